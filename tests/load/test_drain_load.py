"""F17: a server that is stopped under load completes every accepted call."""

from pathlib import Path

import pytest

from tests.load.drain_load import drain_under_load

pytestmark = pytest.mark.long


def test_no_admitted_call_fails_when_servers_are_stopped(tmp_path: Path) -> None:
    summary = drain_under_load(tmp_path, calls=600, servers=2)
    assert summary.counts == (602, 0), summary
    assert summary.endings["OK"] == 600
