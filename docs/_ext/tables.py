"""Wide tables of text: each row becomes a card where the window has no room for the columns.

A table that does not fit a phone and holds text gets the class `cards`, one that does not fit a
desk the class `ledger`.  Each of their cells carries its column's heading, which `_static/site.css`
shows in front of the cell; in front of a first cell only where that is a mere number (`numbered`).
Tables of numbers stay tables and scroll; wide ones get the class `figures`.
"""

import re
from html import escape, unescape

TABLE = re.compile(r'(<table class="docutils)(.*?</table>)', re.DOTALL)
HEADING = re.compile(r"<th\b.*?</th>", re.DOTALL)
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
CELL = re.compile(r"<td\b(.*?)</td>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"\W?\s?\d|\W?$")  # with a sign before it, or a dash alone

# in characters
PHONE_WIDTH = 50
DESK_WIDTH = 260
COLUMN_GAP = 3
WRAPPED = 18  # a column may be as narrow as this if its text wraps
SENTENCE = 24  # a cell that is longer is text
PARAGRAPH = 60  # a column with a cell that is longer makes a table one of text
NUMBERED = 3  # a first column that is no wider needs its heading
MANY = 7  # columns of a wide table of numbers


def plain(html):
    """Return the text of a piece of HTML."""
    return unescape(TAG.sub("", html)).strip().replace("\n", " ")


def kind(rows):
    """Return the classes of a table with these rows of texts; none if it is an ordinary one."""
    widest = [max(map(len, column)) for column in zip(*rows, strict=False)]
    fits = sum(min(width, WRAPPED) + COLUMN_GAP for width in widest) <= PHONE_WIDTH
    cells = [cell for row in rows for cell in row[1:]]
    numbers = sum(bool(NUMBER.match(cell)) for cell in cells if cell)
    figures = 2 * numbers > len(cells) and max(widest[1:], default=0) <= PARAGRAPH
    if figures and len(widest) >= MANY:
        return "figures"
    if len(widest) < 3 or fits or max(widest) <= SENTENCE or figures:
        return ""
    if len(widest) > 4 and sum(widest) > DESK_WIDTH:
        return "ledger"
    return "cards numbered" if widest[0] <= NUMBERED else "cards"


def marked(found):
    """Return a table with its class and, if it has one, its cells with their headings."""
    start, table = found.groups()
    rows = [CELL.findall(row) for row in ROW.findall(table)]
    name = kind([[plain(f"<td{cell}") for cell in row] for row in rows if row])
    if not name:
        return found.group()
    headings = [plain(heading) for heading in HEADING.findall(table)]
    return f"{start} {name}" + ROW.sub(lambda row: _labelled(row.group(), headings), table)


def _labelled(row, headings):
    of = iter(headings)
    return CELL.sub(lambda c: f'<td data-label="{escape(next(of, ""))}"{c.group(1)}</td>', row)


def mark(app, page, template, context, doctree):
    """Mark the tables of a page."""
    if context.get("body"):
        context["body"] = TABLE.sub(marked, context["body"])


def setup(app):
    app.connect("html-page-context", mark)
    return {"parallel_read_safe": True}
