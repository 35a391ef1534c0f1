"""The best of several rounds, ours and another engine's, and how they compare."""

from __future__ import annotations


class _Rounds:
    """Our rounds."""

    rounds_ns: tuple[float, ...]

    @property
    def ns(self) -> float:
        """The best round."""
        return min(self.rounds_ns)


class BesidePinocchio(_Rounds):
    """Rounds beside those of Pinocchio's call from Python."""

    peer_rounds_ns: tuple[float, ...]
    overhead_ns: float

    @property
    def peer_ns(self) -> float | None:
        """Pinocchio's best round, inside C++."""
        return min(self.peer_rounds_ns) - self.overhead_ns if self.peer_rounds_ns else None

    @property
    def ratio(self) -> float | None:
        """How many times longer Pinocchio takes inside C++."""
        return self.peer_ns / self.ns if self.peer_ns else None


class BesideMujoco(_Rounds):
    """Rounds beside those of MuJoCo."""

    mujoco_rounds_ns: tuple[float, ...]

    @property
    def mujoco_ns(self) -> float | None:
        """MuJoCo's best round."""
        return min(self.mujoco_rounds_ns, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times faster than MuJoCo."""
        return self.mujoco_ns / self.ns if self.mujoco_ns else None
