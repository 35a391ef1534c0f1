"""Tables of the equation ledger: a block ``` {ledger} NAME ``` becomes the rows of that source."""

import re

BLOCK = re.compile(r"^```\{ledger\} (.+)\n```$", re.MULTILINE)
HEADER = ["where", "what it says", "function", "test", "page", "note"]


def table(name):
    """Return the rows of a source as a Markdown table."""
    from sixfold.checks.explanation.ledger import rows

    def coded(names):
        return ", ".join(f"`{each}`" for each in names)

    def linked(page):
        return f"[{page.partition('#')[2].replace('-', ' ')}]({page})" if page else ""

    found = [
        [row.where, row.says, *map(coded, (row.functions, row.tests)), linked(row.page), row.note]
        for row in rows()
        if row.source == name
    ]
    if not found:
        raise ValueError(f"the ledger has no source named {name}")
    lines = [HEADER, ["---"] * len(HEADER), *found]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_tables(app, name, lines):
    """Put the tables in place of their blocks."""
    lines[0] = BLOCK.sub(lambda block: table(block.group(1)), lines[0])


def setup(app):
    app.connect("source-read", write_tables)
    return {"parallel_read_safe": True}
