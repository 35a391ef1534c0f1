"""A function with wide results, for tests of what writes them."""

import sixfold as sf


def growing(size, zeros=range(0)):
    """Return a function of two wide results, the last numbers of which are complete first.

    Some are arguments, sines, constants, the same value twice, or used again later; some columns of
    the second are zero.
    """

    def function(x):
        found = [sf.math.sin(x[0]), x[1], x[2] * 0.5]
        for k in range(6 * size):
            found.append(found[-1] * x[k % 3] - found[k // 2] * 0.125)
        first = found[:-size:-3][:size] + found[: size - len(found[:-size:-3][:size])]
        second = [found[-1 - 5 * k] for k in range(size)]
        first[3], first[40], second[7], second[50] = x[0], sf.math.cos(x[0]), 1.5, 0.0
        for k in zeros:
            second[k] = 0.0
        return [*first[::-1], *second[::-1]]

    return function
