"""Commands in console blocks of pages print the output shown."""

import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, SAMPLE, run_tenure

EXPLAIN, SIMULATE = "use/explain.md", "use/simulate.md"
PAGES = {
    page: (ROOT / "docs" / page).read_text() for page in (EXPLAIN, SIMULATE, "get-started/quickstart.md")
}
EXAMPLES = {
    f"{page}: {command}": (command, output)
    for page, text in PAGES.items()
    for command, output in re.findall(r"```console\n\$ tenure (.*)\n((?:.*\n)*?)```", text)
}
ORDINARY = 2
"""Number of examples that are run with the ordinary tests."""
QUESTIONS = {"why-pending", "why-victim", "why-not-victim", "protected-until"}
AUDIENCES = {"public", "tenant"}


def test_page_covers_every_topic_and_every_audience() -> None:
    words = {word for command, _ in EXAMPLES.values() for word in command.split()}
    assert words >= QUESTIONS | AUDIENCES | {"simulate", "decide"}


@pytest.mark.parametrize(
    ("command", "output"),
    [
        pytest.param(*example, id=name, marks=() if place < ORDINARY else pytest.mark.long)
        for place, (name, example) in enumerate(EXAMPLES.items())
    ],
)
def test_command_prints_the_output_on_the_page(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    files = {"cluster.yaml": str(SAMPLE)}
    saved = re.findall(r"```yaml\n(.*?)```", PAGES[SIMULATE], re.DOTALL)
    for name, text in zip(("probe.yaml", "gentle.yaml"), saved, strict=True):
        files[name] = str(tmp_path / name)
        (tmp_path / name).write_text(text)
    ran = run_tenure(*(files.get(word, word) for word in shlex.split(command)))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.rstrip() for line in ran.stdout.splitlines()] == [
        line.rstrip() for line in output.splitlines()
    ]
