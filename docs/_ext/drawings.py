"""Drawings of the book as SVG files: dark lines on white paper, letters of one size.

`python docs/_ext/drawings.py docs/pictures` writes them.  The width of a drawing is that of a phone
(380 units), so that its letters, 15 units high, stay legible there; the paper is white in the dark
theme, too.
"""

import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH = 380
SIZE = 15  # letters
BLACK, GRAY, BODY = "#1f2937", "#4b5563", "#e5eaf1"
BLUE, RED, GREEN, ORANGE = "#1d4ed8", "#b91c1c", "#15803d", "#9a3412"


class Drawing:
    """Lines, arrows, bodies and letters on a sheet; x to the right, y up."""

    def __init__(self, height, title):
        """Take the height of the sheet and what it shows."""
        self.height, self.title, self.parts = height, title, []

    def _at(self, point):
        return f"{point[0]:.1f}", f"{self.height - point[1]:.1f}"

    def line(self, start, end, color=BLACK, width=2.0, dash=""):
        """Draw a line."""
        (x1, y1), (x2, y2) = self._at(start), self._at(end)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" '
            f'stroke-width="{width}"{dashes}/>'
        )

    def arrow(self, start, end, color=BLACK, width=2.0, dash=""):
        """Draw a line with a head at its end."""
        dx, dy = end[0] - start[0], end[1] - start[1]
        length = math.hypot(dx, dy)
        u, v = dx / length, dy / length
        neck = end[0] - 9 * u, end[1] - 9 * v
        self.line(start, neck, color, width, dash)
        corners = (end, (neck[0] - 4 * v, neck[1] + 4 * u), (neck[0] + 4 * v, neck[1] - 4 * u))
        self.polygon(corners, color)

    def turn(self, center, radius, start, end, color=BLACK):
        """Draw an arc with a head, for a moment or an angle; degrees, against the clock."""
        a, b = math.radians(start), math.radians(end)
        on = [(center[0] + radius * math.cos(t), center[1] + radius * math.sin(t)) for t in (a, b)]
        (x1, y1), (x2, y2) = map(self._at, on)
        large = int(abs(end - start) > 180)
        sweep = int(end < start)
        self.parts.append(
            f'<path d="M {x1} {y1} A {radius} {radius} 0 {large} {sweep} {x2} {y2}" '
            f'fill="none" stroke="{color}" stroke-width="2"/>'
        )
        way = 1 if end > start else -1
        u, v = -math.sin(b) * way, math.cos(b) * way
        tip = on[1][0] + 6 * u, on[1][1] + 6 * v
        x, y = on[1]
        self.polygon((tip, (x - 4 * v, y + 4 * u), (x + 4 * v, y - 4 * u)), color)

    def polygon(self, corners, fill, edge="none"):
        """Draw a filled shape with straight edges."""
        points = " ".join(",".join(self._at(corner)) for corner in corners)
        self.parts.append(f'<polygon points="{points}" fill="{fill}" stroke="{edge}"/>')

    def rod(self, start, end, width=22):
        """Draw a body between two points."""
        (x1, y1), (x2, y2) = self._at(start), self._at(end)
        for color, extra in ((BLACK, 3), (BODY, 0)):
            self.parts.append(
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" '
                f'stroke-width="{width + extra}" stroke-linecap="round"/>'
            )

    def joint(self, at, radius=6, fill="#ffffff"):
        """Draw a hinge seen along its axis."""
        x, y = self._at(at)
        self.parts.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{BLACK}" '
            'stroke-width="2"/>'
        )

    def mass(self, at, color=RED):
        """Draw a centre of mass."""
        x, y = self._at(at)
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="4.5" fill="{color}"/>')

    def frame(self, at, angle, length=38, color=GREEN):
        """Draw the axes of a frame, the first turned by an angle in degrees."""
        for turned in (angle, angle + 90):
            t = math.radians(turned)
            self.arrow(at, (at[0] + length * math.cos(t), at[1] + length * math.sin(t)), color)

    def ground(self, at, width=60):
        """Draw the fixed base below a point."""
        x, y = at
        self.line((x - width / 2, y), (x + width / 2, y), BLACK, 2.5)
        for k in range(int(width // 10)):
            left = x - width / 2 + 10 * k
            self.line((left, y - 9), (left + 9, y), GRAY, 1.5)

    def text(self, at, letters, color=BLACK, anchor="middle"):
        """Write letters; `_x` or `_{xy}` is a subscript and `^` a superscript."""
        x, y = self._at(at)
        spans, place, k = [], 0, 0
        while k < len(letters):
            mark, k = (letters[k], k + 1) if letters[k] in "_^" else ("", k)
            if mark and letters[k] == "{":
                end = letters.index("}", k)
                piece, k = letters[k + 1 : end], end + 1
            elif mark:
                piece, k = letters[k], k + 1
            else:
                end = min((i for i in range(k, len(letters)) if letters[i] in "_^"), default=None)
                piece, k = letters[k:end], len(letters) if end is None else end
            level = {"_": 4, "^": -6, "": 0}[mark]
            small = ' font-size="12"' if mark else ""
            spans.append(f'<tspan dy="{level - place}"{small}>{escape(piece)}</tspan>')
            place = level
        self.parts.append(
            f'<text x="{x}" y="{y}" fill="{color}" text-anchor="{anchor}">{"".join(spans)}</text>'
        )

    def svg(self):
        """Return the drawing as the text of an SVG file."""
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH * 1.5:g}" role="img" font-family="sans-serif" font-size="{SIZE}">\n'
            f"<title>{escape(self.title)}</title>\n"
            f'<rect width="{WIDTH}" height="{self.height}" rx="6" fill="#ffffff"/>\n'
            f"{body}\n</svg>\n"
        )


def frames():
    """Return two bodies with the frames of the joint between them."""
    d = Drawing(250, "Frames of joint i: the parent's frame, the joint's two frames, X_T and X_J")
    d.rod((50, 60), (190, 130), 34)
    d.rod((190, 130), (320, 185), 26)
    d.ground((50, 30), 60)
    d.line((50, 30), (50, 60), BLACK, 3)
    d.joint((50, 60), 8)
    d.joint((190, 130), 8)
    d.frame((50, 60), 27)
    d.frame((190, 130), 27, 46, ORANGE)
    d.frame((190, 130), 50, 62, BLUE)
    d.text((104, 62), "F_{λ(i)}", GREEN, "start")
    d.text((216, 100), "F_{λ(i),i}", ORANGE, "start")
    d.text((236, 190), "F_i", BLUE, "end")
    d.text((92, 125), "body λ(i)")
    d.text((318, 205), "body i")
    d.arrow((70, 22), (178, 22), ORANGE)
    d.text((124, 32), "X_T(i)", ORANGE)
    d.arrow((212, 22), (300, 22), BLUE)
    d.text((256, 32), "X_J(q_i)", BLUE)
    d.text((190, 228), "X_J turns with the joint, X_T is fixed", GRAY)
    return d


def link_forces():
    """Return a link with all that acts on it, in the letters of the lecture."""
    d = Drawing(270, "Link i: forces and moments of its two joints, inertial force and moment")
    near, center, far = (95, 85), (190, 135), (300, 180)
    d.rod(near, far, 40)
    d.arrow(near, center, GRAY, 1.5, "5 4")
    d.arrow(near, far, GRAY, 1.5, "5 4")
    d.joint(near, 7)
    d.joint(far, 7)
    d.mass(center)
    d.arrow((30, 40), near, BLUE, 2.5)
    d.turn(near, 34, 150, 250, BLUE)
    d.arrow(far, (352, 222), ORANGE, 2.5)
    d.turn(far, 34, 60, -40, ORANGE)
    d.arrow(center, (178, 215), RED, 2.5)
    d.turn(center, 30, 100, 200, RED)
    d.text((38, 66), "f_i", BLUE, "end")
    d.text((66, 132), "n_i", BLUE, "end")
    d.text((330, 228), "\u2212f_{i+1}", ORANGE, "end")
    d.text((346, 138), "\u2212n_{i+1}", ORANGE)
    d.text((168, 226), "F_i = m_i v̇_{Ci}", RED, "end")
    d.text((150, 168), "N_i", RED, "end")
    d.text((206, 118), "C_i", RED, "start")
    d.text((146, 88), "p_{Ci}", GRAY, "start")
    d.text((252, 138), "p_{i+1}", GRAY, "start")
    d.text((110, 60), "joint i", BLACK, "start")
    d.text((288, 208), "joint i+1", BLACK, "end")
    d.text((190, 18), "F_i and N_i are the sum of the other four", GRAY)
    return d


def free_body():
    """Return body i with its joint pair, two children and an external force (Fig. 4)."""
    d = Drawing(300, "Body i of a tree: forces of its parent, of two children, and from outside")
    joint, center = (90, 90), (185, 140)
    child_a, child_b, push = (310, 110), (215, 235), (130, 180)
    d.polygon((joint, child_a, child_b, (110, 205)), BODY, BLACK)
    for point in (center, child_a, child_b, push):
        d.arrow(joint, point, GRAY, 1.5, "5 4")
    d.joint(joint, 7)
    d.joint(child_a, 7)
    d.joint(child_b, 7)
    d.mass(center)
    d.arrow((30, 50), joint, BLUE, 2.5)
    d.turn(joint, 30, 190, 290, BLUE)
    d.arrow(child_a, (362, 84), ORANGE, 2.5)
    d.turn(child_a, 26, 40, -50, ORANGE)
    d.arrow(child_b, (262, 280), ORANGE, 2.5)
    d.turn(child_b, 26, 100, 10, ORANGE)
    d.arrow((62, 225), push, RED, 2.5)
    d.text((40, 78), "f_i", BLUE, "end")
    d.text((92, 42), "τ_i", BLUE)
    d.text((348, 66), "\u2212f_\u03b1", ORANGE)
    d.text((352, 130), "\u2212τ_\u03b1", ORANGE)
    d.text((278, 270), "\u2212f_β", ORANGE, "start")
    d.text((250, 232), "\u2212τ_β", ORANGE, "start")
    d.text((58, 236), "f̄_i", RED, "end")
    d.text((148, 104), "s_i", GRAY)
    d.text((225, 86), "d_\u03b1", GRAY)
    d.text((178, 190), "d_β", GRAY, "start")
    d.text((124, 140), "y_i", GRAY, "start")
    d.text((197, 142), "cm_i", RED, "start")
    d.text((190, 14), "parent blue, children orange, others red", GRAY)
    return d


#: Bodies of the ten-body tree: where each stands, above its parent.
TREE10 = {
    1: (190, 60),
    2: (60, 125),
    3: (190, 125),
    9: (320, 125),
    4: (130, 190),
    5: (250, 190),
    10: (320, 190),
    7: (130, 255),
    6: (250, 255),
    8: (130, 320),
}
PARENTS10 = {1: 0, 2: 1, 3: 1, 4: 3, 5: 3, 6: 5, 7: 4, 8: 7, 9: 1, 10: 9}


def tree10():
    """Return the ten-body tree with its longest path and the branch of body 3."""
    d = Drawing(360, "The ten-body tree: bodies above their parents, the longest path in red")
    d.ground((190, 32), 80)
    d.line((190, 32), TREE10[1], RED, 3)
    longest = {3, 4, 7, 8}
    for i, p in PARENTS10.items():
        if p:
            on_path = i in longest
            d.line(TREE10[p], TREE10[i], RED if on_path else BLACK, 3 if on_path else 2)
    for i, (x, y) in TREE10.items():
        d.joint((x, y), 17, "#fde8d7" if 3 <= i <= 8 else BODY)
        d.text((x, y - 5), str(i))
    d.text((22, 342), "branch of body 3: orange", ORANGE, "start")
    d.text((190, 5), "0, the ground", GRAY)
    d.text((374, 316), "longest path: 1, 3, 4, 7, 8", RED, "end")
    d.text((374, 296), "so m = 5", RED, "end")
    return d


def ma23():
    """Return the MA23 from the side, with the letters of its coefficients."""
    d = Drawing(420, "The MA23 from the side: joints 1 to 6, lengths and centres of mass")
    shoulder, elbow = (120, 110), (185, 232)
    along = (0.891, 0.454)  # the forearm's z
    across = (-0.454, 0.891)

    def on_forearm(z, y=0.0):
        return tuple(elbow[k] + z * along[k] + y * across[k] for k in (0, 1))

    wrist, hand = on_forearm(125, 26), (352, 368)
    d.ground((120, 34), 90)
    d.rod((120, 54), shoulder, 34)
    d.rod(shoulder, elbow, 26)
    d.rod(elbow, on_forearm(128), 20)
    d.rod(on_forearm(125), wrist, 8)
    d.rod(wrist, hand, 14)
    d.line((120, 40), (120, 400), GRAY, 1.5, "8 4 2 4")
    d.line(elbow, on_forearm(172), GRAY, 1.5, "8 4 2 4")
    for at in (shoulder, elbow, wrist):
        d.joint(at, 8)
    d.turn((120, 385), 18, 200, 340, BLUE)
    d.text((96, 398), "1", BLUE)
    d.text((100, 106), "2", BLUE, "end")
    d.text((168, 242), "3", BLUE, "end")
    d.text((270, 316), "5", BLUE, "end")
    d.text((216, 196), "4, 6: about the", BLUE, "start")
    d.text((216, 178), "forearm's axis", BLUE, "start")
    second = (148, 162)
    d.mass(second)
    d.text((162, 152), "M_2 at d_2", RED, "start")
    third = on_forearm(45)
    d.mass(third)
    d.text((third[0] + 8, third[1] - 22), "M_3 at d_3", RED, "start")
    fourth = on_forearm(82, 17)
    d.mass(fourth)
    d.text((fourth[0] - 14, fourth[1] + 12), "M_4 at (d_{y4}, h_1)", RED, "end")
    fifth = (wrist[0] + 0.5 * (hand[0] - wrist[0]), wrist[1] + 0.5 * (hand[1] - wrist[1]))
    d.mass(fifth)
    d.text((fifth[0] - 12, fifth[1] + 14), "M_5 at d_5", RED, "end")
    d.mass(on_forearm(105, -4))
    d.text((on_forearm(105)[0] + 8, on_forearm(105)[1] - 24), "M_6 at d_6", RED, "start")
    d.text((138, 206), "\u2113_2", GRAY, "end")
    d.text((190, 64), "joint 5 at (\u2113_{y4}, h_2)", GRAY, "start")
    d.text((190, 44), "from the elbow,", GRAY, "start")
    d.text((190, 24), "in the axes of body 4", GRAY, "start")
    d.text((120, 6), "body 1, the column")
    return d


def rolling_ball():
    """Return the rolling ball with its four frames."""
    d = Drawing(250, "The rolling ball and its frames I, P, Q and B")
    contact, center, radius = (210, 50), (210, 130), 80
    x, y = center
    d.line((20, 50), (360, 50), BLACK, 2.5)
    d.parts.append(
        f'<circle cx="{x}" cy="{d.height - y}" r="{radius}" fill="{BODY}" stroke="{BLACK}" '
        'stroke-width="2"/>'
    )
    d.frame((50, 50), 0, 46, BLACK)
    d.frame(contact, 0, 46, GREEN)
    d.frame(center, 0, 46, ORANGE)
    d.frame(center, -35, 46, BLUE)
    d.arrow((300, 160), (352, 160), RED, 2.5)
    d.text((326, 168), "v", RED)
    d.turn(center, 62, 150, 100, RED)
    d.text((152, 190), "θ", RED)
    d.text((40, 82), "I", BLACK, "end")
    d.text((198, 82), "P", GREEN, "end")
    d.text((262, 134), "Q", ORANGE, "start")
    d.text((256, 98), "B", BLUE, "start")
    d.arrow((50, 22), (210, 22), GRAY, 1.5)
    d.text((130, 6), "d = v t", GRAY)
    d.text((105, 60), "y", BLACK)
    d.text((62, 92), "z", BLACK, "start")
    return d


DRAWINGS = (frames, link_forces, free_body, tree10, ma23, rolling_ball)


if __name__ == "__main__":
    for draw in DRAWINGS:
        file = Path(sys.argv[1]) / f"{draw.__name__}.svg"
        file.write_text(draw().svg(), encoding="utf-8")
        print(file)
