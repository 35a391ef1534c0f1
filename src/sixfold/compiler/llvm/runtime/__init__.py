"""From LLVM text to callable kernels: JIT, gufunc, kernel, cache."""
