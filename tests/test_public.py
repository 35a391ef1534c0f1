"""The public surface is recorded: a name or signature changes on purpose or not at all."""

from tests.signatures import RECORDED, lines


def test_public_signatures_are_as_recorded():
    recorded = RECORDED.read_text().splitlines()
    current = list(lines())
    gone = sorted(set(recorded) - set(current))
    new = sorted(set(current) - set(recorded))
    assert not gone and not new, (
        "the public surface changed; if on purpose: python -m tests.signatures > "
        f"tests/signatures.txt\ngone: {gone}\nnew: {new}"
    )
