"""The page about decision groups: its loop runs, and its example has the output shown."""

import re
import sys
from pathlib import Path

import pytest
from tenure.cli.live.demo import server_process
from tenure.v1 import decision_pb2

from tests.e2e.command import ROOT, SAMPLE, run_command, run_tenure

PAGE = (ROOT / "docs/integrate/decision-groups.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_loop_of_the_page_applies_every_decision_once(tmp_path: Path) -> None:
    script = tmp_path / "loop.py"
    with server_process() as address:
        code = block("python").replace("127.0.0.1:50051", address).replace("cluster.yaml", str(SAMPLE))
        script.write_text(f'{code}\n        print("decided")\n')
        ran = run_command(sys.executable, str(script))
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second, _ = ran.stdout.split("decided\n")
    assert "reclaim for distill: 7 decisions" in first
    assert "allocate for" in first
    assert second == ""


def test_example_prints_the_output_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    file = tmp_path / "in-flight.yaml"
    file.write_text(block("yaml"))
    ran = run_tenure("decide", str(file))
    assert (ran.returncode, ran.stderr) == (0, "")
    shown = block("console").removeprefix("$ tenure decide in-flight.yaml\n")
    assert [line.rstrip() for line in ran.stdout.splitlines()] == shown.splitlines()


def test_page_lists_every_in_flight_state() -> None:
    values = decision_pb2.InFlightGroupState.DESCRIPTOR.values
    states = [value.name.removeprefix("IN_FLIGHT_GROUP_STATE_") for value in values if value.number]
    assert [state for state in states if f"| `{state}` |" not in PAGE] == []
