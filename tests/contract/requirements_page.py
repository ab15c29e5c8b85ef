"""tests/requirements.md as data: one row per requirement."""

import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "tests" / "requirements.md"
_ROW: Final = re.compile(r"^\| ([A-Z])(\d+) \|(.*)\|$")
_NODE_ID: Final = re.compile(r"`(tests/[^`]*?\.py::[^`]*)`")


class Row(NamedTuple):
    """One requirement: its id in two parts, what is asked, by which documents, where it lives, the proof."""

    letter: str
    number: int
    requirement: str
    documents: str
    where: str
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
            if len(cells) != 4 or not all(cells):
                raise ValueError(
                    f"{letter}{number} has {len(cells)} cells: write requirement, documents, where, proof"
                )
            found.append(Row(letter, int(number), *cells))
    return found
