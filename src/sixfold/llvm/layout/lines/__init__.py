"""Results in cache lines: wide ones written in whole lines, lines prefetched for writing."""
