"""Names that a robot's file may hold, each an attack on one of the languages that are written."""

import sixfold as sf

LONG = "long_" * 80

NAMES = (
    # C and C++: comments, splices, macros, trigraphs
    "x*\\ int injected_by_a_name; /*",
    "x*/ int injected_by_a_name; /*",
    "*\\/ int injected_by_a_name; /*",
    "x**//**/ int injected_by_a_name; /**/",
    "x // */ int injected_by_a_name;",
    "*??/\n/ int injected_by_a_name; /*",
    "ends with a backslash\\",
    '"; int injected_by_a_name; "',
    "#define main injected_by_a_name",
    "/* opened",
    # Python: docstrings, escapes, line breaks
    '""" + __import__("os").system("x") + """',
    '\\"\\"\\"\nimport injected_by_a_name\n',
    "'''",
    'ends with a quote"',
    "\\N{BULLET} \\x41 \\u0041 \\",
    "line\nimport injected_by_a_name",
    "line\rimport injected_by_a_name",
    "line\x0cimport injected_by_a_name",
    "{0} {model} %s %(x)s {{}} ${x}",
    # Julia and MATLAB: blocks and line breaks
    "=# injected_by_a_name() #=",
    "%}\ninjected_by_a_name();\n%{",
    "...\ninjected_by_a_name();",
    "line\u2028injected_by_a_name()",
    "line\u0085injected_by_a_name()",
    # LaTeX
    "\\input{/etc/passwd}",
    "$\\immediate\\write18{x}$",
    "}\\end{document}\\begin{document}{",
    "a_b^c~d#e&f%g",
    "\\verb|x|",
    # HTML, XML, SVG, scripts
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!-- x",
    "--><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "&lt;b&gt; &amp; &#60;",
    "]]><b/><![CDATA[",
    "{{title}}",
    "</title></style><svg onload=alert(1)>",
    # JSON and CSV
    '","injected":"',
    '=HYPERLINK("http://127.0.0.1","x")',
    'a,b;c\t"d"',
    "@SUM(A1)",
    # terminals
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "back\x08\x08\x08space",
    "\u202eright to left\u202c",
    "zero\u200bwidth\ufeff",
    "nul\x00byte",
    # paths and identifiers
    "../../escape",
    "/absolute/path",
    "int",
    "CON",
    # the rest
    "_underscore first",
    LONG,
)
assert len(NAMES) == len(set(NAMES)) == 54
HARMLESS = "harmless"


def model(name):
    """Return an arm of which the robot, a body, a joint and a frame have a name."""
    made = sf.ModelBuilder(name)
    rod = sf.Inertia.from_mass(2.0, (0.0, 0.0, 0.15), (0.016, 0.016, 0.001))
    made.add_body(name, joint=sf.Revolute("y"), joint_name=name, inertia=rod)
    made.add_frame(f"tip {name}", name, (0.0, 0.0, 0.3))
    return made.build()
