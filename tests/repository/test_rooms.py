"""The check `rooms` prints the sizes of packages and modules as they are, and fails for none."""

import json

import pytest

from tests import __main__ as command
from tests.repository.rooms import Module, measured
from tests.tools.tool import ROOT


def module(name: str, lines: int, *importers: str) -> Module:
    return Module(name, ROOT / f"{name.replace('.', '/')}.py", lines, frozenset(importers))


MODULES = [
    module("a.b.large", 900, "a.b.small"),
    module("a.b.small", 20, "a.c.used"),
    module("a.c.used", 20, "a.b.large", "a.c.other"),
    module("a.c.other", 60, "a.c.used"),
    module("a.root", 10),
]


def test_packages_are_counted_with_their_modules_and_lines() -> None:
    assert [[*row.values()] for row in measured(MODULES, "a", 10).packages] == [
        ["a", 1, 10, 10],
        ["a.b", 2, 920, 900],
        ["a.c", 2, 80, 60],
    ]


def test_small_modules_are_those_with_one_importer() -> None:
    (small,) = measured(MODULES, "a", 10).small_modules_with_one_importer
    assert small == {"module": "a.b.small", "lines": 20, "importer": "a.c.used"}


def test_largest_modules_and_folders_are_first_and_limited() -> None:
    found = measured(MODULES, "a", 1)
    assert [[*row.values()] for row in found.largest_modules] == [["a.b.large", 900]]
    assert [[*row.values()] for row in found.folders_with_most_modules] == [["a/b", 2]]


@pytest.mark.interpreted
def test_table_fits_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert command.main(["rooms", "--package", "tenure.solver"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"Packages", "Largest modules", "Folders with most modules"} <= {line.rstrip() for line in lines}
    assert max(map(len, lines)) <= 80


@pytest.mark.interpreted
def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["rooms", "--output", "json"]) == 0
    packages = {row["package"]: row for row in json.loads(capsys.readouterr().out)["packages"]}
    assert packages["tenure.solver"]["modules"] > packages["tenure.terms"]["modules"] > 0
