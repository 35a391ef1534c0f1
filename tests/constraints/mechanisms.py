"""Mechanisms whose motion is known to many digits."""

import numpy as np

import sixfold as sf

GRAVITY = 9.81


def rod(mass, length):
    """Return a uniform rod along x from the origin."""
    I = mass * length**2 / 12
    return sf.Inertia.from_mass(mass, (length / 2, 0, 0), (0, I, I))


def plate(mass, center, about_z):
    """Return a flat body in the x-y plane."""
    return sf.Inertia.from_mass(mass, (*center, 0.0), (about_z / 2, about_z / 2, about_z))


def four_bar(ground, crank, coupler, rocker, masses):
    """Return a four-bar linkage of uniform rods in the vertical x-y plane."""
    builder = sf.ModelBuilder("four-bar", gravity=(0, -GRAVITY, 0))
    hinge = sf.Revolute("z")
    builder.add_body("crank", joint=hinge, inertia=rod(masses[0], crank))
    more = {"placement": (crank, 0, 0), "inertia": rod(masses[1], coupler)}
    builder.add_body("coupler", parent="crank", joint=hinge, **more)
    more = {"placement": (ground, 0, 0), "inertia": rod(masses[2], rocker)}
    builder.add_body("rocker", joint=hinge, **more)
    return builder.close("coupler", "rocker", hinge, (coupler, 0, 0), (rocker, 0, 0)).build()


def slider_crank():
    """Return crank, rod and slider, without gravity."""
    builder = sf.ModelBuilder("slider-crank", gravity=(0, 0, 0))
    builder.add_body("crank", joint=sf.Revolute("z"), inertia=rod(1.0, 0.2))
    more = {"placement": (0.2, 0, 0), "inertia": rod(2.0, 0.5)}
    builder.add_body("rod", parent="crank", joint=sf.Revolute("z"), **more)
    slider = sf.Inertia.from_mass(1.0, rotational=(0.01, 0.01, 0.01))
    builder.add_body("slider", joint=sf.Prismatic("x"), inertia=slider)
    return builder.close("rod", "slider", sf.Revolute("z"), (0.5, 0, 0)).build()


def bricard():
    """Return six unit rods with hinges at right angles, one of them the base; all q = 90 deg."""
    builder = sf.ModelBuilder("bricard", gravity=(0, -GRAVITY, 0))
    twists = [np.pi / 2 * (-1) ** k for k in range(6)]
    place = None
    for k in range(5):
        link = {"parent": f"link{k}" if k else None, "joint": sf.Revolute("z")}
        builder.add_body(f"link{k + 1}", placement=place, inertia=rod(1.0, 1.0), **link)
        place = sf.Transform.from_rpy((twists[k], 0, 0), (1.0, 0, 0))
    base = sf.Transform.from_rpy((-twists[5], 0, 0), (-1.0, 0, 0))
    return builder.close("world", "link5", sf.Revolute("z"), base, place).build()
