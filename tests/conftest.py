"""Settings of the whole suite."""

import gc

# Workers hold millions of objects, the programs of kernels, none of which is garbage: collections
# of the oldest generation took a third of the time.
gc.set_threshold(50_000, 20, 100)
