"""The pictures of the page about policies show what its tables say, and name their command."""

import re
from typing import Final

import pytest

from tests.simulator.policy_pictures import FOLDER, PAGE, PICTURES, command_of, files_of, points

TEXT: Final = PAGE.read_text(encoding="utf-8")
_ROWS: Final = {
    "all.wait.mean": ("mean wait", 60),
    "by_priority.125.wait.mean": ("mean wait, high priority", 60),
    "cluster.lost": ("lost GPU hours", 1),
    "evictions.barren_segments": ("segments that kept nothing", 1),
    "evictions.eviction_rate_gfs": ("eviction rate after GFS", 0.01),
}
"""Row of the table of a figure, and the unit of its values."""
_COLUMN: Final = {"policies-spot-medium": 1, "policies-spot-high": 2}
"""Column of a picture in the table of all loads."""


def table_of(name: str) -> dict[str, list[str]]:
    """Cells of the last table before a picture, by the first one of their row."""
    before = TEXT[: TEXT.index(f"]({name}.svg)")]
    rows = re.findall(r"^\|.*\|$", before[before.rindex("| figure |") :], re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {first: rest for first, *rest in cells}


def shown(name: str, row: str, point: int) -> float:
    """The value of a point in the table."""
    cells = table_of(name)[row]
    if name in _COLUMN:
        cells = cells[_COLUMN[name]].split(", ")
    found = re.match(r"[\d.]+", cells[point])
    assert found, cells
    return float(found[0])


def test_all_pictures_of_the_page_are_checked() -> None:
    assert re.findall(r"\]\(([\w-]+)\.svg\)", TEXT) == list(PICTURES)
    assert "python -m tests policy-pictures --update" in " ".join(TEXT.split())


@pytest.mark.parametrize("name", PICTURES)
def test_picture_has_the_values_of_the_table(name: str) -> None:
    found = points((FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
    assert found
    for label, values in found:
        for figure, value in values.items():
            row, unit = _ROWS[figure]
            for point in map(int, label.split(", ")):
                text = shown(name, row, point - 1)
                digits = 10.0 ** -len(str(text).partition(".")[2].rstrip("0"))
                assert value / unit == pytest.approx(text, abs=digits * 0.51), (figure, point)


@pytest.mark.parametrize("name", PICTURES)
def test_study_of_a_picture_is_on_the_page(name: str) -> None:
    study = PICTURES[name].study
    assert study in files_of(name)
    assert command_of(study).startswith("tenure sweep")
