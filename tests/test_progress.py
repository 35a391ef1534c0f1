"""One bar for all long work: only where somebody watches, and only when it takes long."""

import io
import sys
import time
import types

import pytest

from sixfold import progress
from sixfold.progress import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_tells_label_share_and_time_left():
    now, stream = [0.0], io.StringIO()
    bar = Bar("rows of \x1b[31m" + "x" * 90, stream=stream, clock=lambda: now[0])
    now[0] = 10.0
    bar(25, 100)
    text = stream.getvalue()
    assert "25 %  30 s left" in text and "\x1b" not in text
    assert len(text.strip("\r")) <= 80


def test_bar_with_delay_stays_hidden_for_short_work():
    now, stream = [0.0], io.StringIO()
    bar = Bar("short", delay=2.0, stream=stream, clock=lambda: now[0])
    for done in range(11):
        now[0] = 0.1 * done
        bar(done, 10)
    assert stream.getvalue() == ""


def test_bar_with_delay_shows_long_work_to_its_end():
    now, stream = [0.0], io.StringIO()
    bar = Bar("long", delay=2.0, stream=stream, clock=lambda: now[0])
    for done in range(11):
        now[0] = 1.0 * done
        bar(done, 10)
    assert "20 %" in stream.getvalue() and "10 %" not in stream.getvalue()
    assert stream.getvalue().endswith("\n") and "10 s in all" in stream.getvalue()


def test_bar_of_work_without_known_end_counts():
    stream = io.StringIO()
    bar = Bar("samples", stream=stream)
    bar(1200, None)
    assert "samples 1,200, " in stream.getvalue()


def test_nothing_is_shown_without_a_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with progress.showing("work"), progress.working("work"):
        progress.tell(1, 2)
    assert progress.bar("x") is None and stream.getvalue() == ""


def test_told_work_is_shown_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with progress.showing("formulations"):
        progress.tell(1, 2)
    progress.tell(2, 2)  # nobody listens any more
    assert "formulations [" in terminal.getvalue() and "50 %" in terminal.getvalue()
    assert "100 %" not in terminal.getvalue()


def test_work_of_unknown_length_shows_its_seconds(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    with progress.working("compiling 'a\x07b'"):
        deadline = time.monotonic() + 20.0
        while not terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "sixfold: compiling" in terminal.getvalue() and terminal.getvalue().endswith("\n")
    assert "\x07" not in terminal.getvalue()


def test_work_inside_other_work_says_nothing_of_its_own(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    with progress.working("deriving"), progress.working("compiling"):
        deadline = time.monotonic() + 20.0
        while not terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "deriving" in terminal.getvalue() and "compiling" not in terminal.getvalue()
    with progress.working("compiling"):
        while "compiling" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "sixfold: compiling" in terminal.getvalue()


def test_notebooks_get_an_element_that_is_replaced(monkeypatch):
    pages = []

    class Handle:
        def update(self, page):
            pages.append(page)

    def display(page, display_id):
        pages.append(page)
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    there = types.ModuleType("IPython")
    there.get_ipython = lambda: shell
    there.display = types.ModuleType("IPython.display")
    there.display.HTML, there.display.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", there)
    monkeypatch.setitem(sys.modules, "IPython.display", there.display)
    bar = progress.bar("a <b>")
    assert isinstance(bar, progress.NotebookBar)
    bar(1, 4)
    bar(4, 4)
    assert 'value="1" max="4"' in pages[0] and 'value="4"' in pages[-1]
    assert "a &lt;b&gt;" in pages[0] and "<b>" not in pages[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.2 s"), (42.0, "42 s"), (125.0, "2 min 05 s"), (7260.0, "2 h 01 min")],
)
def test_times_read_as_people_say_them(seconds, text):
    assert progress.duration(seconds) == text
