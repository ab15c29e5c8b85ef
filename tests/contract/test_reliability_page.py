"""docs/internals/reliability.md names tests that exist."""

import re

from tests.contract.errors_page import ROOT

PAGES = ("internals/reliability.md", "internals/state.md", "internals/search.md", "internals/testing.md")
NAMED = {
    match
    for page in PAGES
    for match in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "docs" / page).read_text())
}


def test_named_files_exist() -> None:
    assert len(NAMED) > 40
    assert sorted(file for file, _ in NAMED if not (ROOT / file).is_file()) == []


def test_named_functions_exist() -> None:
    named = {(file, name) for file, name in NAMED if name}
    assert sorted(name for file, name in named if f"def {name}(" not in (ROOT / file).read_text()) == []
