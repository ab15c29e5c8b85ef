"""tests/requirements.md: rows have no gaps, and the named tests exist and take the named path."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.requirements.public_paths import NO_TEST, PUBLIC, path_of, paths_of
from tests.small_snapshot import child_environment

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "tests" / "requirements.md"
_ROW: Final = re.compile(r"^\| ([A-Z])(\d+) \|(.*)\|$")
_NODE_ID: Final = re.compile(r"`(tests/[^`]*?\.py::[^`]*)`")


class Row(NamedTuple):
    """One requirement: its id in two parts, its text, its source documents, modules, path and proof."""

    letter: str
    number: int
    requirement: str
    documents: str
    where: str
    path: str
    """Public paths that its tests take."""
    proof: str

    @property
    def id(self) -> str:
        """As the page shows it."""
        return f"{self.letter}{self.number}"

    @property
    def node_ids(self) -> list[str]:
        """Tests that the proof names."""
        return _NODE_ID.findall(self.proof)


def rows(text: str) -> list[Row]:
    """All rows of the page, in order. ValueError for one that does not have all its cells."""
    found = []
    for line in text.splitlines():
        if match := _ROW.match(line):
            letter, number, rest = match.groups()
            cells = [cell.strip() for cell in rest.split(" | ")]
            if len(cells) != 5 or not all(cells):
                expected = "requirement, documents, where, path, proof"
                raise ValueError(f"{letter}{number} has {len(cells)} cells: write {expected}")
            found.append(Row(letter, int(number), *cells))
    return found


TEXT = PAGE.read_text()
ROWS = rows(TEXT)
LETTERS = {"M": "0 1 2", "E": "3", "P": "4"}
"""Which documents each group of rows comes from."""
FEWEST_PUBLIC_PROOFS: Final = 200
"""Rows that are proven through gRPC, the command line or an API server: at least this many."""
EXEMPTIONS = ("Deliberately different: ", "Not ours: ")
"""Prefixes of proofs that are not only names of tests."""


def collect_tests(files: set[str]) -> set[str]:
    """Ids of the tests in these files, as pytest names them; a function's id stands for all its cases."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--override-ini=addopts="]
    options = ["-p", "no:cacheprovider", "--continue-on-collection-errors", *sorted(files)]
    run = subprocess.run(
        [*command, *options], cwd=ROOT, env=child_environment(), capture_output=True, text=True, check=False
    )
    cases = {line for line in run.stdout.splitlines() if "::" in line}
    return cases | {case.partition("[")[0] for case in cases}


def test_rows_are_numbered_without_gaps() -> None:
    found = {letter: [row.number for row in ROWS if row.letter == letter] for letter in LETTERS}
    assert found == {letter: list(range(1, len(numbers) + 1)) for letter, numbers in found.items()}
    assert {row.letter for row in ROWS} == set(LETTERS)


def test_every_line_of_a_table_is_a_row() -> None:
    """A row that is not parsed would not be checked."""
    lines = [line for line in TEXT.splitlines() if re.match(r"\| *\**[A-Z]+ ?\d", line)]
    assert len(lines) == len(ROWS) > 150


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_names_its_documents_and_its_proof(row: Row) -> None:
    assert set(row.documents.split()) <= set(LETTERS[row.letter].split())
    assert row.requirement.endswith(".")
    assert row.node_ids or row.proof.startswith(EXEMPTIONS)


def test_tests_named_on_the_page_exist() -> None:
    named = {node_id for row in ROWS for node_id in row.node_ids}
    files = {node_id.partition("::")[0] for node_id in named}
    missing = {file for file in files if not (ROOT / file).is_file()}
    assert sorted(missing) == []
    assert sorted(named - collect_tests(files)) == []


def test_every_row_names_the_public_path_of_its_tests() -> None:
    assert {row.id: row.path for row in ROWS} == {row.id: paths_of(row.node_ids) for row in ROWS}
    assert {row.id for row in ROWS if row.path == NO_TEST} == {row.id for row in ROWS if not row.node_ids}


def test_most_rows_are_proven_through_a_public_path() -> None:
    public = [row.id for row in ROWS if set(row.path.split(", ")) & {*PUBLIC}]
    assert len(public) >= FEWEST_PUBLIC_PROOFS


@pytest.mark.parametrize(
    ("test", "path"),
    [
        ("tests/requirements/test_requeue_settings.py::test_examples_of_the_proposal", "gRPC"),
        ("tests/server/telemetry/test_requeue_telemetry.py::test_metrics_of_a_cycle", "gRPC"),
        (
            "tests/server/telemetry/test_requeue_telemetry.py::test_reasons_are_those_of_the_contract",
            "inside",
        ),
        ("tests/cli/test_migrate.py::test_second_run_changes_nothing", "CLI"),
        ("tests/kubernetes/adapter/test_adapter.py::test_gang_starts_completely_or_not_at_all", "API server"),
        ("tests/contract/test_comments.py::test_everything_is_explained[state.proto]", "documents"),
        ("tests/solver/actions/test_requeue.py::test_options_have_the_documented_defaults", "inside"),
        ("tests/codec/test_decode.py::test_queue_values", "inside"),
    ],
)
def test_path_is_that_of_the_fixtures_and_functions_of_a_test(test: str, path: str) -> None:
    assert path_of(test) == path


def test_no_row_has_an_open_proof() -> None:
    assert [row.id for row in ROWS if "TODO" in row.proof] == []


def test_a_row_without_all_its_cells_is_an_error() -> None:
    with pytest.raises(ValueError, match="M3 has 4 cells"):
        rows("| M3 | It works. | 0 | gRPC | `tests/x.py::test_x` |")


def test_cases_with_their_parameters_are_found() -> None:
    assert collect_tests({"tests/contract/test_comments.py"}) >= {
        "tests/contract/test_comments.py::test_protos_are_found",
        "tests/contract/test_comments.py::test_everything_is_explained",
        "tests/contract/test_comments.py::test_everything_is_explained[snapshot.proto]",
    }
