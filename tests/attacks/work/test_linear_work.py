"""Counted work grows with a request as its elements do. `python -m tests linear-work` counts all fields."""

from typing import Any, Final

import pytest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.attacks.work import work_counter
from tests.attacks.work.command import MOST, Counted, count_calls, excessive
from tests.attacks.work.growing_requests import VALID, field_name, repeated_paths

pytestmark = pytest.mark.long

SNIPPETS: Final = {
    "names[:at]": ("for at, name in enumerate(names): name in names[:at]", True),
    "in a list": ("[name for name in names if name not in names]", True),
    "concatenation": ("for at in range(len(names)): names[at:] + names[:at]", True),
    "nested loops": ("sum(1 for one in names for other in names)", True),
    "hashes of tuples": ("known = {}\n    for name in names: known.get(tuple(names))", True),
    "a set": ("known = set(names)\n    for name in names: name in known", False),
    "a sort": ("sorted(names, key=lambda name: name)", False),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_counter_sees_quadratic_work_in_loops_and_in_c(name: str) -> None:
    body, is_quadratic = SNIPPETS[name]
    counted = Counted(
        *(count_snippet(f"def run(names):\n    {body}", size) for size in (100, 200, 400)), "OK"
    )
    assert (counted.growth > MOST) == is_quadratic


def count_snippet(source: str, size: int) -> int:
    """Units of work of a function `run` for this number of names."""
    scope: dict[str, Any] = dict(work_counter.FUNCTIONS)
    exec(work_counter.rewrite(source, "snippet"), scope)
    before = work_counter.work()
    scope["run"]([f"name-{i}" for i in range(size)])
    return work_counter.work() - before


def test_every_field_of_a_snapshot_is_filled_with_valid_elements_too() -> None:
    assert {field_name(path[-1]) for path in repeated_paths(ClusterSnapshot.DESCRIPTOR)} == VALID.keys()


def test_twice_the_elements_are_at_most_2_2_times_the_work() -> None:
    fields = ("Topology.levels", "PodGroup.sub_groups", "ClusterSnapshot.nodes")
    counted = count_calls(*fields)
    assert sorted(counted) == sorted(fields)
    assert [problem for cases in counted.values() for problem in excessive(cases)] == []
