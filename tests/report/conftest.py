import pytest

from tests.viewer.support import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened
