"""Kernels of quantities: reduced trees, rolled trees, threads, result memory."""
