"""Characters that no name may bring to a terminal, and a check for them."""

MARKS = "\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\ufeff"
MARKS += "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2060, 0x2070)]))
CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
RAW = frozenset(CONTROLS + MARKS) - {"\n"}


def clean(text):
    """Assert that a text holds no character of the kind, and no line that a name began."""
    found = sorted({c for c in text if c in RAW})
    assert not found, f"{found} in {text!r:.400}"
    assert not [line for line in text.splitlines() if line.startswith("FORGED")]
    return text
