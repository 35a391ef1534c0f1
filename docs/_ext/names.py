"""Names in tables: mark where a long one may break, so that narrow columns stay readable."""

import re

TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
NAME = re.compile(r'(<span class="pre">)([^<]{9,})(</span>)')
# after a dot, an underscore, a slash, a bracket or a comma, unless it stands at the end
PLACE = re.compile(r"(?<=\w[._/(,=])(?=[\w.])|(?<=[a-z])(?=[A-Z][a-z])")


def mark(app, page, template, context, doctree):
    """Put `<wbr>` into the names of a page's tables."""
    if context.get("body"):
        context["body"] = TABLE.sub(lambda t: NAME.sub(_marked, t.group()), context["body"])


def _marked(found):
    start, name, end = found.groups()
    return start + PLACE.sub("<wbr>", name) + end


def setup(app):
    app.connect("html-page-context", mark)
    return {"parallel_read_safe": True}
