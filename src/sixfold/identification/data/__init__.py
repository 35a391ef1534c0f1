"""Logs of real robots: from files and arrays to samples with velocities and accelerations."""
