"""The page about preemptibility: its example has the listing and the decisions shown."""

import json
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, run_tenure

PAGE = (ROOT / "docs/use/preemptibility.md").read_text()


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The example of the page as a file, and a terminal of the width of the page."""
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "jobs.yaml"
    file.write_text(PAGE.split("```yaml\n")[1].split("```")[0])
    return str(file)


def test_workloads_command_prints_the_table_on_the_page(jobs: str) -> None:
    shown = PAGE.split("```text\n")[1].split("```")[0]
    ran = run_tenure("workloads", jobs)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.rstrip() for line in ran.stdout.rstrip().splitlines()] == shown.splitlines()


def test_pods_named_on_the_page_are_evicted(jobs: str) -> None:
    ran = run_tenure("decide", jobs, "--output", "json")
    assert (ran.returncode, ran.stderr) == (0, "")
    (group,) = json.loads(ran.stdout)["groups"]
    assert {step["evict"]["pod"] for step in group["decisions"] if "evict" in step} == {
        "important-0",
        "elastic-2",
    }
    assert group["action"] == "preempt"
