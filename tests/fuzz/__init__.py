"""Random changes to files of every kind that is read, for as long as one likes."""
