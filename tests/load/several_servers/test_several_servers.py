"""Servers behind HAProxy with the configuration of the repository: one fails, and no answer is wrong."""

import subprocess
from pathlib import Path

import pytest

from tests.checks import Counts
from tests.load.several_servers.balancer import CONFIGURATION
from tests.load.several_servers.command import main
from tests.tools.catalog import haproxy

pytestmark = pytest.mark.skipif(haproxy() is None, reason="needs HAProxy: python -m tests build haproxy")


def test_haproxy_accepts_the_configuration(tmp_path: Path) -> None:
    command = [haproxy() or "", "-c", "-f", CONFIGURATION]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "warning" not in ended.stderr.lower()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "stop",
    [pytest.param(False, id="killed"), pytest.param(True, id="stopped", marks=pytest.mark.thorough)],
)
def test_shards_move_when_a_server_fails_and_no_answer_is_wrong(stop: bool) -> None:
    assert main(clusters=9, nodes=16, pools=3, pool_nodes=24, period=6.0, stop=stop) == Counts(84, 0)
