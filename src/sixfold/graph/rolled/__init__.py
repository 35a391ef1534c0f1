"""Programs that loop over the items of a tree: recorded, checked, stored."""
