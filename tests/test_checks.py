"""The registry of checks, the command that runs them, and the page that lists them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import __main__ as command
from tests.checks import CHECKS, CannotRun, Check, Counts
from tests.checks_page import BEGIN, END, PAGE, written
from tests.small_snapshot import child_environment
from tests.tools.catalog import TOOLS
from tests.tools.tool import ROOT

FOLDERS = ("docs", "tests", "protos", "server", "client", "docker")
NAMES = [check.name for check in CHECKS]


def _raise(error: Exception) -> Counts:
    raise error


ENDS: dict[str, tuple[Callable[[], Counts | None], int, str]] = {
    "all passed": (lambda: Counts(3, 0), 0, "3 passed, 0 failed\n"),
    "some failed": (lambda: Counts(3, 2), 1, "3 passed, 2 failed\n"),
    "defect in the check": (lambda: _raise(ValueError("?")), 1, "0 passed, 1 failed\n"),
    "a report": (lambda: None, 0, ""),
    "cannot run": (lambda: _raise(CannotRun("no such folder")), 2, ""),
}


def test_names_are_unique_and_not_that_of_the_build_command() -> None:
    assert len({*NAMES, "build"}) == len(NAMES) + 1


def test_needs_are_tools() -> None:
    assert {need for check in CHECKS for need in check.needs} <= {tool.name for tool in TOOLS}


def test_list_has_one_line_for_each_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_function_imports_and_help_prints_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([name, "--help"]) == 0
    assert f"Usage: python -m tests {name}" in capsys.readouterr().out


@pytest.mark.parametrize(("function", "status", "printed"), ENDS.values(), ids=ENDS)
def test_exit_status_and_closing_line_follow_the_counts(
    function: Callable[[], Counts | None],
    status: int,
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "CHECKS", (Check("own", "", "", "module:function"),))
    monkeypatch.setattr(Check, "load", lambda _: function)
    assert command.main(["own"]) == status
    assert capsys.readouterr().out == printed


def test_missing_program_is_named_with_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command.main(["proto-check"]) == 2
    expected = "proto-check: protoc is not built, and the build needs make on the PATH\n"
    assert capsys.readouterr() == ("", expected)


@pytest.mark.parametrize("arguments", [["no-such-check"], ["build", "no-such-tool"], ["fuzz", "--no-such"]])
def test_unknown_name_or_option_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 2
    assert capsys.readouterr().err


def test_small_run_ends_with_its_counts() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests", "differential", "20"],
        cwd=ROOT,
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "20 passed, 0 failed"


def test_page_lists_the_checks_and_tools_of_the_registries() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert written(text) == text, "python -m tests --write-page"


def test_pages_name_targets_and_checks_that_exist() -> None:
    pages = [ROOT / "README.md", *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    text = "\n".join(page.read_text() for page in pages)
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z0-9-]+)", text)) <= targets
    assert set(re.findall(r"python -m tests ([a-z][a-z0-9-]+)", text)) <= {*NAMES, "build"}
