"""Limits on connections need a list of open files, which a chroot without /proc does not have."""

import logging
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.server import connections

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


def test_without_a_list_of_open_files_the_server_decides_and_says_that_it_has_no_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    missing = tmp_path / "fd"
    monkeypatch.setattr(connections, "_DESCRIPTORS", (missing, missing))
    with caplog.at_level(logging.WARNING), run_server() as (_, address), Client(address) as client:
        assert client.decide(small_snapshot()).groups
    assert f"neither {missing} nor {missing} can be read" in caplog.text
