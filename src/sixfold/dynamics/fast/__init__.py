"""The pages that run: equal to the book pages by law, with fewer operations."""
