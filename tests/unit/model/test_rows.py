"""Versions of rows, each as if it was copied from the one before."""

from itertools import pairwise

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


def test_versions_of_one_origin_differ_by_what_changed_alone() -> None:
    draw = SeededDraw(2)
    rows = Rows({f"row-{number}": number for number in range(100)})
    versions = [rows]
    for step in range(50):
        rows = rows.after({f"row-{draw.integer(0, 150)}": None if draw.chance(50) else 1_000 + step})
        versions.append(rows)
    origins = [version.origin for version in versions]
    assert 1 < len(set(origins)) < len(versions) == 51
    for earlier, later in pairwise(versions):
        unlike = {uid for uid in {*earlier, *later} if earlier.get(uid) != later.get(uid)}
        assert unlike <= {*later.changed} or earlier.origin != later.origin


def test_rows_that_have_nothing_in_common_have_origins_of_their_own() -> None:
    assert Rows({"a": 1}).origin != Rows({"a": 1}).origin
