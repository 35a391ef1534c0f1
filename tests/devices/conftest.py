"""A stand-in for Nvidia's driver, for the tests that ask for one."""

from __future__ import annotations

import gc

import pytest

from sixfold.devices.cuda import driver, rollouts
from tests.devices.fake_cuda import FakeCuda


def forget():
    """Drop what is kept of a driver and its cards."""
    for kept in (rollouts._loaded, driver.device, driver.driver):
        kept.cache_clear()


@pytest.fixture
def installed(monkeypatch):
    """Return what puts a stand-in in the place of the driver."""

    def install(fake):
        forget()
        monkeypatch.setattr(driver, "open_library", lambda: fake)
        return fake

    yield install
    gc.collect()  # arrays of a test go before its driver
    forget()


@pytest.fixture
def fake(installed):
    return installed(FakeCuda())
