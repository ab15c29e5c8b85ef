"""Packages with scores: one that raises is named, one that the node index does not know says its cost."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tenure.client import Client, TenureError
from tenure.client.snapshot_file import read_snapshot

from tests.cli.test_installed_packages import install, tenure, with_packages
from tests.e2e.command import SAMPLE

SCORE = """
class it:
    {traits}

    def __init__(self, context, arguments):
        self._pods = context.cluster.tasks

    def scores(self, task, nodes):
        return {scores}
{more}"""
RAISES = {
    "nodes[0].rank": "AttributeError: 'int' object has no attribute 'rank' (tenure_broken.py:9)",
    "[self._pods[-10**9].index for _ in nodes]": "IndexError",
    "[1.0]": "scores returned 1 values for",
}
CONCERNS = """
    def concerns(self, task):
        return False
"""
COST = "the node index does not know the score of broken: whenever a pod is placed, all scores are computed"


def score(scores: str = "[0.0 for _ in nodes]", more: str = "") -> str:
    return SCORE.format(traits="", scores=scores, more=more)


def config(folder: Path, text: str = "plugins: {broken: {}}\n") -> Path:
    file = folder / "tenure.yaml"
    file.write_text(text)
    return file


def serve(site: Path, file: Path, call: Callable[[str], None]) -> str:
    """Call a server with this configuration, and return what it logged."""
    command = [sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0", "--no-records"]
    with subprocess.Popen(
        [*command, "--config", str(file)],
        env=with_packages(site),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout
            call(server.stdout.readline().split()[-1])
        finally:
            server.terminate()
        return server.communicate(timeout=60)[1]


@pytest.mark.parametrize("scores", RAISES)
def test_plugin_that_raises_is_named_with_its_package_and_tenure_is_not(scores: str, tmp_path: Path) -> None:
    install(tmp_path, "tenure.plugins", score(scores))
    ended = tenure(tmp_path, "decide", str(SAMPLE), "--config", str(config(tmp_path)))
    assert ended.returncode == 3
    (line,) = ended.stderr.splitlines()
    assert line.startswith(
        "tenure: plugin broken of tenure-broken 1.0 failed; please report it to its authors"
    )
    assert RAISES[scores] in line


def test_score_without_node_index_says_at_check_and_start_what_it_costs(
    tmp_path: Path,
) -> None:
    install(tmp_path, "tenure.plugins", score())
    file = config(tmp_path)
    checked = tenure(tmp_path, "config", "check", str(file))
    assert checked.returncode == 0
    assert COST in " ".join(checked.stdout.split())
    assert COST in serve(tmp_path, file, lambda _: None)


def test_score_with_concerns_keeps_the_node_index(tmp_path: Path) -> None:
    install(tmp_path, "tenure.plugins", score(more=CONCERNS))
    checked = tenure(tmp_path, "config", "check", str(config(tmp_path)))
    assert (checked.returncode, "node index" in checked.stdout) == (0, False)


def test_plugin_that_fails_without_nodes_is_named_at_start(tmp_path: Path) -> None:
    code = score().replace("context.cluster.tasks", "context.cluster.nodes[0]")
    install(tmp_path, "tenure.plugins", code)
    checked = tenure(tmp_path, "config", "check", str(config(tmp_path)))
    text = " ".join(checked.stdout.split())
    assert "plugin broken of tenure-broken 1.0 fails on a cluster without nodes: IndexError" in text


@pytest.mark.parametrize("processes", ["", "server: {solverHost: process}\n"])
def test_server_names_the_plugin_that_raised_to_its_caller(processes: str, tmp_path: Path) -> None:
    install(tmp_path, "tenure.plugins", score("nodes[0].rank"))
    file = config(tmp_path, f"plugins: {{broken: {{}}}}\n{processes}")

    def call(address: str) -> None:
        snapshot = read_snapshot(str(SAMPLE))
        with Client(address) as client, pytest.raises(TenureError) as raised:
            client.decide(snapshot)
        assert "plugin broken of tenure-broken 1.0 failed; no decision was made" in str(raised.value)

    assert "plugin broken of tenure-broken 1.0 failed" in serve(tmp_path, file, call)
