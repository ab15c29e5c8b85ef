"""Each version of a persistent map behaves like a copy of the previous version."""

from itertools import pairwise

import pytest
from tenure.solver.resolution.persistent_map import PersistentMap

from tests.properties.generators.draw import SeededDraw


def test_every_version_is_the_previous_one_with_its_changes() -> None:
    draw = SeededDraw(1)
    expected = {f"row-{number}": number for number in range(100)}
    rows, versions = PersistentMap(expected.copy()), []
    for step in range(200):
        changes = {f"row-{draw.integer(0, 150)}": None if draw.chance(50) else 1_000 + step for _ in range(3)}
        versions.append((rows, expected))
        rows = rows.with_changes(changes)
        expected = {uid: row for uid, row in {**expected, **changes}.items() if row is not None}
    for version, content in versions:
        assert version.to_dict() == content
        assert len(version) == len(content)
        assert set(version) == set(content)
        assert all((f"row-{number}" in version) == (f"row-{number}" in content) for number in range(151))
        assert [version.get(f"row-{number}") for number in range(151)] == [
            content.get(f"row-{number}") for number in range(151)
        ]


def test_missing_key_is_not_found() -> None:
    rows = PersistentMap({"a": 1}).with_changes({"a": None, "b": 2})
    assert rows["b"] == 2
    with pytest.raises(KeyError):
        rows["a"]


def test_versions_of_one_origin_differ_only_in_changed_keys() -> None:
    draw = SeededDraw(2)
    rows = PersistentMap({f"row-{number}": number for number in range(100)})
    versions = [rows]
    for step in range(50):
        rows = rows.with_changes({f"row-{draw.integer(0, 150)}": None if draw.chance(50) else 1_000 + step})
        versions.append(rows)
    origins = [version.origin for version in versions]
    assert 1 < len(set(origins)) < len(versions) == 51
    for earlier, later in pairwise(versions):
        unlike = {uid for uid in {*earlier, *later} if earlier.get(uid) != later.get(uid)}
        assert unlike <= {*later.changed_uids} or earlier.origin != later.origin


def test_independent_maps_have_different_origins() -> None:
    assert PersistentMap({"a": 1}).origin != PersistentMap({"a": 1}).origin
