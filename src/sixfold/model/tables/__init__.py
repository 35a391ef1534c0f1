"""Models from tables of numbers, as books and lectures print them."""
