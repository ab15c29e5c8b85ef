"""Versions of rows, each as if it was copied from the one before."""

import pytest
from tenure.solver.model.rows import Rows

from tests.properties.draw import SeededDraw


def test_every_version_is_what_its_changes_make_of_the_one_before() -> None:
    draw = SeededDraw(1)
    expected = {f"row-{number}": number for number in range(100)}
    rows, versions = Rows(expected.copy()), []
    for step in range(200):
        changes = {f"row-{draw.integer(0, 150)}": None if draw.chance(50) else 1_000 + step for _ in range(3)}
        versions.append((rows, expected))
        rows = rows.after(changes)
        expected = {uid: row for uid, row in {**expected, **changes}.items() if row is not None}
    for version, content in versions:
        assert version.whole() == content
        assert len(version) == len(content)
        assert set(version) == set(content)
        assert all((f"row-{number}" in version) == (f"row-{number}" in content) for number in range(151))
        assert [version.get(f"row-{number}") for number in range(151)] == [
            content.get(f"row-{number}") for number in range(151)
        ]


def test_who_is_not_there_is_not_found() -> None:
    rows = Rows({"a": 1}).after({"a": None, "b": 2})
    assert rows["b"] == 2
    with pytest.raises(KeyError):
        rows["a"]
