"""Headers of NumPy files."""

import io

import numpy as np


def header(shape, dtype="<f8"):
    """Return the header of an .npy file."""
    stream = io.BytesIO()
    about = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, about)
    return stream.getvalue()
