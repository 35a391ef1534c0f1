"""Closed forms and exported code: time, size and operation counts.

Run with `python benchmarks/closed_forms.py`.  Robots of example-robot-data appear where it and
Pinocchio are installed; the size of machine code where gcc and size are.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import sympy as sp
from sympy.physics import mechanics as me

import sixfold as sf
from benchmarks.bench.examples import pinocchio_example
from sixfold.errors import SixfoldError
from sixfold.interop.pinocchio import from_pinocchio
from sixfold.symbolic.code import closed_form


def arm3() -> sf.Model:
    """Turntable, shoulder and elbow: axes z, y, y, centres of mass on the links."""
    builder = sf.ModelBuilder("arm3")
    builder.add_body(
        "one", joint=sf.Revolute("z"), inertia=sf.Inertia.from_mass(3, (0, 0, 0), (0.1, 0.1, 0.2))
    )
    two = sf.Inertia.from_mass(2, (0.2, 0, 0), (0.01, 0.03, 0.04))
    three = sf.Inertia.from_mass(1, (0.15, 0, 0), (0.005, 0.02, 0.03))
    builder.add_body("two", parent="one", joint=sf.Revolute("y"), inertia=two)
    builder.add_body(
        "three", parent="two", joint=sf.Revolute("y"), placement=(0.4, 0, 0), inertia=three
    )
    return builder.build()


def sympy_lagrange():
    """Return M and the forcing vector of the same arm by sympy.physics.mechanics."""
    q, qd = me.dynamicsymbols("q1:4"), me.dynamicsymbols("q1:4", 1)
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q[0], N.z])
    B = A.orientnew("B", "Axis", [q[1], A.y])
    C = B.orientnew("C", "Axis", [q[2], B.y])
    O = me.Point("O")
    O.set_vel(N, 0)
    l, c2, c3, g = sp.symbols("lx3 cx2 cx3 g")
    elbow = O.locatenew("elbow", l * B.x)
    bodies = []
    for k, (frame, point) in enumerate(
        ((A, O), (B, O.locatenew("G2", c2 * B.x)), (C, elbow.locatenew("G3", c3 * C.x))), 1
    ):
        m = sp.Symbol(f"m{k}")
        if point is not O:
            point.set_vel(N, point.pos_from(O).dt(N))
        I = me.inertia(frame, *sp.symbols(f"Ixx{k} Iyy{k} Izz{k}"))
        body = me.RigidBody(f"b{k}", point, frame, m, (I, point))
        body.potential_energy = m * g * point.pos_from(O).dot(N.z)
        bodies.append(body)
    method = me.LagrangesMethod(me.Lagrangian(N, *bodies), q, bodies=bodies, frame=N)
    method.form_lagranges_equations()
    return method.mass_matrix, method.forcing, (q, qd)


def timed(make):
    start = time.perf_counter()
    value = make()
    return value, time.perf_counter() - start


def operations(expressions) -> int:
    return sum(int(sp.count_ops(x)) for x in expressions)


def row(*cells) -> None:
    print("| " + " | ".join(map(str, cells)) + " |")


def header(title: str, *cells: str) -> None:
    print(f"\n{title}\n")
    row(*cells)
    print("|" + "---|" * len(cells))


def lower(M) -> list:
    return [M[i, j] for i in range(M.rows) for j in range(i + 1)]


def same(found, mass, forcing, symbols) -> None:
    """Stop if the two routes do not describe the same arm."""
    values = {s: 0.3 + 0.1 * k for k, s in enumerate(sorted(found.parameters, key=str))}
    state = [0.4, -0.7, 1.1], [0.9, 0.5, -0.6]
    ours = values | dict(zip(found.q, state[0], strict=True))
    ours |= dict(zip(found.qd, state[1], strict=True))
    theirs = dict(zip(symbols[1], state[1], strict=True))
    theirs |= dict(zip(symbols[0], state[0], strict=True))
    theirs |= {sp.Symbol(str(s)): x for s, x in values.items()}
    # parameters of body 1 that turn with the first joint only, and do not occur in ours
    theirs |= {s: 1.0 for s in mass.free_symbols | forcing.free_symbols if s not in theirs}
    pairs = ((found.M, mass), (found.V + found.G, -forcing))
    for left, right in pairs:
        difference = left.evalf(subs=ours) - right.subs(theirs).evalf()
        assert max(abs(x) for x in difference) < 1e-12, difference


def sympy_route() -> None:
    model = arm3()
    _, cold = timed(lambda: sf.equations(model, "numbers"))
    found, ours = timed(lambda: sf.equations(model))
    (M, V, G), converted = timed(lambda: (found.M, found.V, found.G))
    (mass, forcing, symbols), theirs = timed(sympy_lagrange)
    same(found, mass, forcing, symbols)
    (clean, cleaned), more = timed(lambda: [x.applyfunc(sp.trigsimp) for x in (mass, forcing)])
    header(
        "3-dof arm, symbolic M, V, G: ours against sympy.physics.mechanics.LagrangesMethod",
        *("route", "time", "operations of M", "operations of V + G"),
    )
    time_of = f"{ours:.2f} s + {converted:.2f} s to SymPy ({cold:.2f} s when kernels are new)"
    row("sixfold, verified", time_of, operations(lower(M)), operations([*V, *G]))
    row("LagrangesMethod", f"{theirs:.2f} s", operations(lower(mass)), operations(forcing))
    total = f"{theirs + more:.2f} s"
    row("the same and trigsimp", total, operations(lower(clean)), operations(cleaned))


def puma() -> None:
    model = sf.load("puma560").without(friction=True, damping=True)
    _, cold = timed(lambda: sf.equations(model, "numbers"))
    header(
        f"Puma 560, M, V, G, verified on 1,000 states ({cold:.2f} s more when kernels are new)",
        *("inertias", "parameters", "time", "terms M / V / G", "operations as code", "worst error"),
    )
    for parameters in ("symbols", "numbers"):
        for inertias in ("centre", "origin", "base"):
            options = {"parameters": parameters, "inertias": inertias, "samples": 1000}
            e, seconds = timed(lambda o=options: sf.equations(model, **o))
            counts = " / ".join(str(closed_form(e, "c", t).operations) for t in "MVG")
            terms = " / ".join(map(str, e.terms.values()))
            worst = f"{max(e.errors.values()):.1e}"
            row(inertias, parameters, f"{seconds:.2f} s", terms, counts, worst)


def robots():
    yield "puma560", sf.load("puma560").without(friction=True, damping=True)
    for name in ("ur5", "panda", "g1_29dof"):
        try:
            yield name, from_pinocchio(pinocchio_example(name)[1])
        except SixfoldError as error:
            print(f"({name} left out: {str(error).splitlines()[0]})")


def grouping() -> None:
    header(
        "Kernels: additions, multiplications and divisions before and after grouping",
        *("robot", "function", "before", "after", "saved"),
    )
    for name, model in robots():
        least = sf.group_inertias(model)
        for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
            before, after = (sf.export(m, function).operations for m in (model, least))
            row(name, function, before, after, f"{100 * (1 - after / before):.0f} %")


def sizes() -> None:
    header(
        "Exported C99 (gcc -O1 -c, text section)",
        *("robot", "function", "operations", "source", "machine code double", "float"),
    )
    for name, model in robots():
        for function in ("inverse_dynamics", "forward_dynamics"):
            code = sf.export(model, function)
            source = f"{sum(map(len, code.files.values())) / 1024:.0f} KiB"
            made = [compiled(model, function, dtype) for dtype in ("double", "float")]
            row(f"{name} ({model.nv} dof)", function, code.operations, source, *made)


def compiled(model, function, dtype) -> str:
    if not shutil.which("gcc") or not shutil.which("size"):
        return "-"
    with tempfile.TemporaryDirectory() as folder:
        paths = sf.export(model, function, dtype=dtype, name="robot").write(folder)
        (source,) = [p for p in paths if p.suffix == ".c"]
        target = Path(folder) / "robot.o"
        subprocess.run(
            ["gcc", "-std=c99", "-Wall", "-Werror", "-O1", "-c", source, "-o", target], check=True
        )
        text = subprocess.run(["size", target], capture_output=True, text=True, check=True).stdout
        return f"{int(text.splitlines()[1].split()[0]) / 1024:.1f} KiB"


if __name__ == "__main__":
    sympy_route()
    puma()
    grouping()
    sizes()
