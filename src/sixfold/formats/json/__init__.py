"""Models as JSON, in and out."""
