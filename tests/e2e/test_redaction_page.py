"""The page about redaction: its commands have the output shown."""

import re
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, SAMPLE, run_tenure

PAGE = (ROOT / "docs/use/redact.md").read_text()
SHOWN = re.findall(r"^\$ tenure (.*)\n((?:[^$`].*\n)+)", PAGE, re.MULTILINE)


def test_commands_print_the_output_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "cluster.yaml").write_text(SAMPLE.read_text())
    assert [command.split()[0] for command, _ in SHOWN] == ["redact", "explain"]
    for command, shown in SHOWN:
        words = [str(tmp_path / word) if "." in word else word for word in command.split()]
        ran = run_tenure(*words)
        assert (ran.returncode, ran.stderr) == (0, "")
        output = ran.stdout.replace(f"{tmp_path}/", "")
        assert [line.rstrip() for line in output.splitlines()] == shown.splitlines()
