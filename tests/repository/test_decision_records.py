"""Decision records are numbered, listed, short, and name what was rejected."""

import re
from pathlib import Path

import pytest

from tests.repository.pages import ROOT, table

FOLDER = ROOT / "docs/internals/decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
HEADINGS = ["Problem", "Decision", "Rejected", "Consequences", "Next steps"]


def test_records_are_listed_in_order() -> None:
    rows = table((FOLDER / "README.md").read_text(), "| record | decision |")
    listed = [re.sub(r"\[(\d+)\]\((.*)\)", r"\1 \2", row[0]).split() for row in rows]
    assert listed == [[str(number), path.name] for number, path in enumerate(RECORDS, 1)]
    assert len(RECORDS) >= 12


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_record_has_all_parts(record: Path) -> None:
    text = record.read_text()
    number = int(record.name[:2])
    assert text.startswith(f"# {number}. ")
    assert re.search(r"^\*\*Status:\*\* (proposed|accepted|replaced by \d+)\.$", text, re.MULTILINE)
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == HEADINGS
    assert len(table(text, "| choice | why not |")) >= 2
    assert len(text.splitlines()) <= 60
