"""How a program lies in memory: signature, schedule, tiles, gather and scatter, streaming."""
