"""Models that the tests of simulations share."""

import sixfold as sf


def heavy_top():
    builder = sf.ModelBuilder("top")
    inertia = sf.Inertia.from_mass(1.0, (0.05, 0.0, 0.5), (0.3, 0.35, 0.1))
    builder.add_body("top", joint=sf.Spherical(), inertia=inertia)
    return builder.build()


def free_body():
    builder = sf.ModelBuilder("body", gravity=(0, 0, 0))
    inertia = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.05), (1.0, 2.0, 3.0))
    builder.add_body("body", joint=sf.Free(), inertia=inertia)
    return builder.build()


def flyer():
    """A floating trunk with an arm of a ball joint and a hinge."""
    builder = sf.ModelBuilder("flyer")
    trunk = sf.Inertia.from_mass(5.0, (0.02, 0.0, 0.01), (0.12, 0.2, 0.25))
    link = sf.Inertia.from_mass(0.7, (0.0, 0.0, -0.12), (2e-2, 2e-2, 1e-2))
    builder.add_body("trunk", joint=sf.Free(), inertia=trunk)
    builder.add_body(
        "upper", parent="trunk", joint=sf.Spherical(), placement=(0, 0.2, 0), inertia=link
    )
    builder.add_body(
        "lower", parent="upper", joint=sf.Revolute("y"), placement=(0, 0, -0.25), inertia=link
    )
    return builder.build()
