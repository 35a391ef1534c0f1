"""`print(model)`: the tree with parents and joint types, in 80 columns."""

import dataclasses

import sixfold as sf


def test_a_model_prints_its_tree_with_the_types_of_its_joints():
    assert str(sf.load("tree6")).splitlines() == [
        "<Model 'tree6': nb=6, nq=6, nv=6, 10.3 kg>",
        "world",
        "└─ body1  [joint1: revolute about (0 0 1)]",
        "   ├─ body2  [joint2: slide along (0 0 1)]",
        "   │  └─ body3  [joint3: slide along (0 0 1)]",
        "   └─ body4  [joint4: revolute about (0 0 1)]",
        "      ├─ body5  [joint5: revolute about (0 0 1)]",
        "      └─ body6  [joint6: revolute about (0 0 1)]",
    ]
    assert repr(sf.load("tree6")) == str(sf.load("tree6")).splitlines()[0]


def test_every_line_fits_80_columns_whatever_the_names():
    model = sf.random_tree(40, 1, branching=0.0)
    names = {"body3": "long" * 40, "joint5": "x\n\x1b[31m" * 30}
    model = dataclasses.replace(sf.rename(model, names), name="n" * 300)
    lines = str(model).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("[joint" in line for line in lines) == 39


def test_large_trees_are_cut_and_the_rest_is_counted():
    lines = str(sf.load("planar_chain:100")).splitlines()
    assert lines[-1] == "... and 40 more bodies"
    assert sum("link" in line for line in lines) == 60
