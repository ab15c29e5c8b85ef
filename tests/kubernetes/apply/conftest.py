"""Fixtures of tests of what is written to an API server."""

from collections.abc import Iterator

import pytest

from tests.kubernetes.apply.applier_rig import ApplierRig, Served


@pytest.fixture
def rig(scripted_server: Served) -> Iterator[ApplierRig]:
    made = ApplierRig(scripted_server)
    yield made
    made.applier.close()
