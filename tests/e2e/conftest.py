"""Processes started by tests import the same packages as the tests."""

import os
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _packages_for_child_processes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("COLUMNS", "100")
        yield
