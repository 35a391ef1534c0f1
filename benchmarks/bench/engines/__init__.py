"""The engines that are timed, and the states that all of them are given."""
