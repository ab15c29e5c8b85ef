"""Completion of `kubectl tenure`: candidates and directives in the form that kubectl reads."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tenure.kubernetes.plugin.completion import Directive, complete

PROGRAM: Final = Path(sys.executable).with_name("kubectl_complete-tenure")
COMMANDS: Final = ["queues", "workloads", "why", "protected", "what-if", "set", "migrate"]
FILES, NO_FILES = Directive


@pytest.fixture(autouse=True)
def _without_a_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("words", "expected", "directive"),
    [
        pytest.param([], COMMANDS, NO_FILES, id="commands"),
        pytest.param(["w"], ["workloads", "why", "what-if"], NO_FILES, id="part of a command"),
        pytest.param(["unknown", ""], [], NO_FILES, id="an unknown command"),
        pytest.param(["queues", "--c"], ["--context"], NO_FILES, id="an option"),
        pytest.param(["queues", "-o", "j"], ["json"], NO_FILES, id="a value of an option"),
        pytest.param(["queues", "--kubeconfig", ""], [], FILES, id="a file for an option"),
        pytest.param(["queues", ""], [], NO_FILES, id="no arguments"),
        pytest.param(["what-if", ""], [], FILES, id="a file"),
        pytest.param(["what-if", "a.yaml", ""], [], NO_FILES, id="one file only"),
        pytest.param(["migrate", "a.yaml", ""], [], FILES, id="many files"),
        pytest.param(["set", "m"], ["min-runtime"], NO_FILES, id="a setting"),
        pytest.param(["set", "preemptibility", "job/a", "N"], ["Non-Preemptible"], NO_FILES, id="a value"),
        pytest.param(["set", "requeue-delay", "job/a", ""], [], NO_FILES, id="a duration"),
        pytest.param(["set", "-n", "x", "min"], ["min-runtime"], NO_FILES, id="after an option"),
    ],
)
def test_candidates(words: list[str], expected: list[str], directive: Directive) -> None:
    lines, found = complete(words)
    assert [line.partition("\t")[0] for line in lines] == expected
    assert found is directive


def test_commands_have_descriptions() -> None:
    lines, _ = complete(["que"])
    assert lines == ["queues\tShow the queues as a tree, with their GPUs."]


@pytest.mark.parametrize(
    "words", [["why", ""], ["set", "min-runtime", ""], ["why", "--kubeconfig"], ["-x", ""]]
)
def test_without_a_cluster_it_offers_nothing_and_prints_no_error(words: list[str]) -> None:
    ended = subprocess.run(
        [PROGRAM, *words], env=os.environ, capture_output=True, text=True, check=True, timeout=60
    )
    assert (ended.stdout.splitlines()[-1], ended.stderr) == (":4", "")
