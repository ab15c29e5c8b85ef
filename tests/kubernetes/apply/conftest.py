"""Fixtures of tests of what is written to an API server."""

from collections.abc import Iterator

import pytest

from tests.kubernetes.apply.applier_rig import ApplierRig, Served
from tests.kubernetes.apply.status_rig import StatusRig


@pytest.fixture
def rig(scripted_server: Served) -> Iterator[ApplierRig]:
    made = ApplierRig(scripted_server)
    yield made
    made.applier.close()


@pytest.fixture
def statuses(scripted_server: Served, monkeypatch: pytest.MonkeyPatch) -> StatusRig:
    made = StatusRig(scripted_server, monkeypatch)
    made.assert_no_writes(0)
    return made
