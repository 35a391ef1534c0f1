"""Models that the tests of the algorithms share."""

import sixfold as sf

MODELS = {
    "tree6": sf.load("tree6"),
    "tree10": sf.load("tree10"),
    "puma560": sf.load("puma560"),
    "floating_link": sf.load("floating_link"),
    "rolling_ball": sf.load("rolling_ball"),
    "every joint": sf.random_tree(10, 4),
    "more joints": sf.random_tree(12, 9),
    "rotors": sf.random_tree(6, 8, properties=True),
}

ONE_AXIS = (sf.Revolute, sf.Prismatic, sf.Helical)
ONE_AXIS_MODELS = {
    "tree10": sf.load("tree10"),
    "tree6": sf.load("tree6"),
    "cart_pendulum": sf.load("cart_pendulum"),
    "puma560": sf.load("puma560").without(damping=True, friction=True),
    "screws": sf.random_tree(7, 11, joints=ONE_AXIS),
}
