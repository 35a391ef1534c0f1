"""XML: parsed with line numbers, tidied, and read field by field."""
