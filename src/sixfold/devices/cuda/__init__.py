"""Nvidia's cards: the driver, arrays in a card's memory, and functions that run there."""
