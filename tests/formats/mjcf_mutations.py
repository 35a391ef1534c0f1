"""MJCF files damaged in ten ways, always the same for the same number."""

import contextlib
import random
import re
from collections.abc import Callable

CHAIN = """<mujoco model="chain">
  <compiler angle="degree" autolimits="true"/>
  <option gravity="0 0 -9.81" timestep="0.002" density="1.2"/>
  <default>
    <joint armature="0.01" damping="0.1" frictionloss="0.02"/>
    <geom density="900" rgba="0.2 0.4 0.6 1"/>
    <default class="light"><geom density="100"/></default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <light pos="0 0 3"/>
    <body name="upper" pos="0 0 1" euler="10 20 30">
      <joint name="a" type="hinge" axis="0 1 0" range="-90 90" ref="15" pos="0 0 0.1"/>
      <joint name="b" type="slide" axis="1 0 0" stiffness="30" springref="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/>
      <site name="tip" pos="0 0 -0.5" quat="0.7 0 0.7 0"/>
      <frame pos="0 0 -0.5" euler="0 0 45">
        <body name="lower" childclass="light">
          <inertial pos="0 0 -0.2" mass="0.7" fullinertia="0.02 0.03 0.025 0.001 0 0.002"/>
          <joint name="c" type="ball" pos="0 0.02 0"/>
          <geom type="box" size="0.1 0.1 0.2" mass="0.3"/>
        </body>
      </frame>
    </body>
    <body name="ship" pos="1 1 1">
      <freejoint name="float"/>
      <geom type="ellipsoid" size="0.3 0.2 0.1"/>
      <body name="mast" pos="0 0 0.2"><geom type="cylinder" size="0.02 0.4"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="a" gear="10"/></actuator>
  <sensor><jointpos joint="a"/></sensor>
</mujoco>
"""

PARTS = """<mujoco>
  <compiler autolimits="true" inertiafromgeom="true" settotalmass="3" eulerseq="zyx"/>
  <asset>
    <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.2 0.3"/>
    <mesh name="ball" builtin="sphere" params="2"/>
    <texture name="grid" type="2d" builtin="checker" width="64" height="64"/>
    <material name="blue" texture="grid" rgba="0 0 1 1"/>
    <hfield name="hills" nrow="8" ncol="8" size="1 1 1 1"/>
  </asset>
  <worldbody>
    <replicate count="4" offset="0.5 0 0">
      <body name="peg" pos="0 0 1">
        <joint type="hinge" axis="0 0 1" actuatorfrcrange="-5 5"/>
        <geom type="mesh" mesh="wedge" material="blue"/>
        <body pos="0.1 0 0" gravcomp="1">
          <joint type="slide" axis="1 1 0" springdamper="0.1 1"/>
          <geom type="sphere" size="0.05"/>
        </body>
      </body>
    </replicate>
    <body name="rope" pos="0 1 1">
      <joint type="ball" damping="0.01"/>
      <geom type="capsule" size="0.01 0.2"/>
    </body>
    <body name="target" mocap="true"><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <equality><joint joint1="r" polycoef="0 1 0 0 0"/></equality>
  <tendon><spatial><site site="a"/><site site="b"/></spatial></tendon>
  <keyframe><key time="0"/></keyframe>
</mujoco>
"""

BASES = (CHAIN, PARTS)
ODD = """
nan inf -inf 1e308 1e309 -1e308 1e-320 0 -1 1,5 1.5kg 0x10 99999999999999999999 -0 +1 .5 5.
1e 1_0 \u0661 abc 3 1000000 1e15
"""
HOSTILE = (
    '<replicate count="1000000000"><body><geom size="1"/></body></replicate>',
    '<replicate count="30000" offset="1 0 0"><replicate count="30000"><geom size="1"/></replicate>'
    "</replicate>",
    '<composite type="cable" count="100000000 1 1" curve="s" size="1"><geom size="1"/></composite>',
    '<include file="/etc/hostname"/>',
    '<include file="robot.xml"/>',
    '<include file="../../../../../../dev/zero"/>',
    "<frame>" * 600 + "</frame>" * 600,
    '<body name="\u0000"/>',
    '<attach model="x" body="y" prefix="z"/>',
    '<flexcomp type="grid" count="1000 1000 1000" spacing="1 1 1" name="f"/>',
    '<geom type="mesh" mesh="nothing"/>',
    '<geom type="sdf"/>',
    '<geom type="hfield" hfield="hills"/>',
    '<body name="world"/>',
    '<geom size="' + "1 " * 40000 + '"/>',
    '<site user="' + "7 " * 20000 + '"/>',
    "<body>" * 100 + "<joint/>" + "</body>" * 100,
)
TOP = (
    '<!DOCTYPE mujoco [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    '<?xml version="1.0" encoding="utf-7"?>',
    "<mujoco/>",
    "\ufeff",
)
SECTIONS = (
    '<size memory="1000G" njmax="100000000" nconmax="1000000000" nuser_body="100000000"/>',
    '<asset><texture type="2d" builtin="flat" width="1000000" height="1000000"/></asset>',
    '<asset><hfield name="h" nrow="1000000" ncol="1000000" size="1 1 1 1"/></asset>',
    '<asset><mesh name="m" builtin="plate" params="100000 100000"/></asset>',
    '<asset><mesh file="/dev/zero"/></asset>',
    '<asset><model file="/etc/passwd"/></asset>',
    '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>',
    '<custom><numeric name="n" size="1000000000"/></custom>',
    '<option gravity="0 0 nan"/>',
    '<option><flag gravity="disable" passive="perhaps"/></option>',
    '<default><default class="main"><joint/></default></default>',
    '<default class="x"><default class="x"/></default>',
    '<compiler boundmass="1e300" boundinertia="1e-300" angle="turns"/>',
    '<compiler meshdir="/" assetdir="../../.." fusestatic="true" discardvisual="true"/>',
)
TAGS = re.compile(r"<(\w+)([^<>]*?)(/?)>")
VALUES = re.compile(r'(\w+)="([^"]*)"')

Mutation = Callable[[random.Random, str], str]


def _some(rng: random.Random, pattern: re.Pattern[str], text: str) -> re.Match[str]:
    return rng.choice(list(pattern.finditer(text)))


def drop_line(rng: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return "".join(lines)


def repeat_line(rng: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    k = rng.randrange(len(lines))
    lines.insert(rng.randrange(len(lines)), lines[k])
    return "".join(lines)


def change_number(rng: random.Random, text: str) -> str:
    found = _some(rng, re.compile(r"-?\d[\d.]*"), text)
    return text[: found.start()] + rng.choice(ODD.split()) + text[found.end() :]


def change_value(rng: random.Random, text: str) -> str:
    a, b = _some(rng, VALUES, text), _some(rng, VALUES, text)
    return text[: a.start(2)] + b.group(2) + text[a.end(2) :]


def rename_attribute(rng: random.Random, text: str) -> str:
    a, b = _some(rng, VALUES, text), _some(rng, VALUES, text)
    return text[: a.start(1)] + rng.choice([b.group(1), "wheels", ""]) + text[a.end(1) :]


def rename_element(rng: random.Random, text: str) -> str:
    a, b = _some(rng, TAGS, text), _some(rng, TAGS, text)
    return text[: a.start(1)] + rng.choice([b.group(1), "wheels"]) + text[a.end(1) :]


def cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text))]


def flip(rng: random.Random, text: str) -> str:
    k = rng.randrange(len(text))
    return text[:k] + chr(rng.choice([0, 1, 9, 34, 38, 60, 62, 127, 233, 0x2028])) + text[k + 1 :]


def drop_attribute(rng: random.Random, text: str) -> str:
    found = _some(rng, VALUES, text)
    return text[: found.start()] + text[found.end() :]


def add_hostile(rng: random.Random, text: str) -> str:
    where = rng.randrange(3)
    if where == 0:
        return rng.choice(TOP) + text
    if where == 1:
        return text.replace("<worldbody>", rng.choice(SECTIONS) + "<worldbody>", 1)
    spot = rng.choice(["</worldbody>", "</body>"])
    return text.replace(spot, rng.choice(HOSTILE) + spot, 1)


KINDS: tuple[Mutation, ...] = (
    drop_line,
    repeat_line,
    change_number,
    change_value,
    rename_attribute,
    rename_element,
    cut,
    flip,
    drop_attribute,
    add_hostile,
)


def mutant(number: int) -> bytes:
    """Return one damaged file; a third of them are damaged twice."""
    rng = random.Random(number)
    text = rng.choice(BASES)
    text = KINDS[number % len(KINDS)](rng, text)
    if number % 3 == 0 and len(text) > 200:
        with contextlib.suppress(IndexError, ValueError):
            text = rng.choice(KINDS)(rng, text)
    encoding = "utf-16" if number % 97 == 0 else "utf-8"
    return text.encode(encoding, "surrogatepass")
