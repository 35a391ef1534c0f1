import pytest

from tests.view.support import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened
