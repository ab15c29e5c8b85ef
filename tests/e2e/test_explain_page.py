"""The pages about explanations and simulations: every command prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, SAMPLE, run_tenure

EXPLAIN = (ROOT / "docs/use/explain.md").read_text()
SIMULATE = (ROOT / "docs/use/simulate.md").read_text()
EXAMPLES = re.findall(r"```console\n\$ tenure (.*)\n((?:.*\n)*?)```", EXPLAIN + SIMULATE)
QUESTIONS = {"why-pending", "why-victim", "why-not-victim", "protected-until"}
AUDIENCES = {"public", "tenant"}


def test_page_covers_every_topic_and_every_audience() -> None:
    words = {word for command, _ in EXAMPLES for word in command.split()}
    assert words >= QUESTIONS | AUDIENCES | {"simulate"}


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_command_prints_what_the_page_shows(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    probe = tmp_path / "probe.yaml"
    probe.write_text(re.findall(r"```yaml\n(.*?)```", SIMULATE, re.DOTALL)[0])
    files = {"cluster.yaml": str(SAMPLE), "probe.yaml": str(probe)}
    ran = run_tenure(*(files.get(word, word) for word in command.split()))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.rstrip() for line in ran.stdout.splitlines()] == [
        line.rstrip() for line in shown.splitlines()
    ]
