"""The work before and after a search is linear in the size of a request: for twice the elements of any
repeated field or map at most 2.2 times the work.

Work is counted exactly (`work_counter` says what it sees), never timed, for every field of every request that
the descriptors of the contract list (`growing_requests`), along the path of a call without its transport
(`work_measurement`): scan, parsing, checks, decoding, session, cycle with nothing to place, encoding.
"""

import json
import subprocess
import sys
from typing import Any, Final, NamedTuple

import pytest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.attacks.work import work_counter
from tests.attacks.work.growing_requests import VALID, field_name, repeated_paths, request_types
from tests.small_snapshot import child_environment

PROGRAM: Final = """
from tests.attacks.work import work_counter
work_counter.install()
from tests.attacks.work import work_measurement
work_measurement.main()
"""
MOST: Final = 2.2
SLACK: Final = 2_000
"""Units that do not grow with the elements, such as a warning, or a scan that only large rows need."""
FIELDS: Final = sorted(
    {field_name(path[-1]) for message in request_types().values() for path in repeated_paths(message)}
)


class Counted(NamedTuple):
    """Units of work of a call with some elements, with twice and with four times as many."""

    few: int
    some: int
    many: int
    status: str

    @property
    def growth(self) -> float:
        """How much the work for the elements grows when their number doubles, whatever is constant."""
        return (self.many - self.some) / max(SLACK, self.some - self.few)


def count_all() -> dict[str, dict[str, list[Counted]]]:
    """Calls by field and case, counted in a process of their own, whose modules are rewritten."""
    command, environment = [sys.executable, "-c", PROGRAM], child_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[Counted]]] = {}
    for line in done.stdout.splitlines():
        field, name, calls = json.loads(line)
        found.setdefault(field, {})[name] = [Counted(*call) for call in calls]
    return found


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


@pytest.mark.timeout(900)
def test_twice_the_elements_of_any_field_are_at_most_2_2_times_the_work() -> None:
    counted = count_all()
    assert sorted(counted) == FIELDS
    too_much = [
        f"{field}, {name}, call {place}: {call.growth:.2f} times ({call})"
        for field, cases in counted.items()
        for name, calls in cases.items()
        for place, call in enumerate(calls)
        if call.growth > MOST
    ]
    assert not too_much, "\n".join(too_much)
    valid = [calls for cases in counted.values() for name, calls in cases.items() if name.startswith("valid")]
    decided = [calls for calls in valid if all(call.status == "OK" for call in calls)]
    assert len(decided) > 0.8 * len(valid)
