"""Programs as source code in other languages."""
