"""What a robot looks like and how it moved, as plain arrays for the window and the report."""
