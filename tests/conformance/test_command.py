"""The check `conformance`: its output and its exit status."""

import json
from pathlib import Path

import pytest

from tests.__main__ import main
from tests.conformance.cases import UnreadableCases, load_cases
from tests.conformance.plain_cases import plain_cases
from tests.conformance.results import COUNTED_APART


def _run(*arguments: object) -> int:
    return main(["conformance", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four cases: one passes, one fails, one is counted separately, one does not map."""
    passing, failing, apart = (dict(case.data) for case in plain_cases()[:3])
    failing["expected"] = {**failing["expected"], "jobs": {**passing["expected"]["jobs"]}}
    failing["jobs"] = [{**failing["jobs"][0], "name": "pending"}]
    apart["tags"] = [*apart["tags"], COUNTED_APART]
    unmapped = {"id": "own/unit", "kind": "proportion", "tags": ["unit"], "steps": [{"call": "New"}]}
    cases = [passing, failing, apart, unmapped]
    content = {"format": "kai-cases", "format_version": 1, "cases": cases}
    (tmp_path / "cases.json").write_text(json.dumps(content))
    return tmp_path


def test_report_ends_with_the_counts_and_exit_code_1_means_failures(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("--cases", folder, "--list-failures", "-j", 1) == 1
    printed = capsys.readouterr().out
    assert printed.splitlines()[-3:] == [
        "evicted_after_placement, counted apart: 1 of 1 match",
        "unmapped: 1 unit cases (proportion 1); calls: New 1",
        "1 passed, 1 failed",
    ]
    assert "task gang-0: expected Binding on node0, got Pending" in printed


def test_chosen_cases_that_all_pass_exit_with_zero(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "report"
    chosen = ("--id", "a free GPU", "--tag", "runs_allocate")
    assert _run("--cases", folder, *chosen, "--json", file, "-j", 1) == 0
    report = json.loads(file.read_text())
    assert (report["passed"], report["failed"], report["failures"]) == (1, 0, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "no/such/folder"], "no case folder at no/such/folder: name one with --cases DIR"),
        (["--tag", "no-such-tag"], "no case has these tags and this id: see --tag and --id"),
    ],
    ids=["no folder", "no case"],
)
def test_invalid_arguments_exit_with_2(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("--cases", folder, *arguments) == 2
    assert capsys.readouterr() == ("", f"conformance: {message}\n")


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "kai-cases", "format_version": 2}'])
def test_a_file_of_another_format_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(UnreadableCases, match=r"other\.json"):
        load_cases(tmp_path)


def test_an_empty_folder_is_not_a_success(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCases, match=r"no \*\.json files"):
        load_cases(tmp_path)
