"""Preferences of many pods cost work in proportion to what was written (semantics R3.78)."""

import subprocess
import sys
from typing import Final

import pytest

from tests.attacks.overload.preference_flood import Gang
from tests.small_snapshot import child_environment

GANGS: Final = 30
PODS: Final = 50
MOST: Final = 2.2
MOST_FOR_TERMS: Final = 1.1
PROGRAM: Final = """
import sys
from tests.attacks.work import work_counter
work_counter.install()
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tests.attacks.overload.preference_flood import Gang, preference_flood
for arguments in sys.argv[1:]:
    gangs, *gang = map(int, arguments.split())
    request = DecideRequest(snapshot=preference_flood(gangs, 10, Gang(*gang)))
    before = work_counter.work()
    Engine(default_profile()).decide(request)
    print(work_counter.work() - before)
"""


def _count(*attacks: tuple[int, Gang]) -> list[int]:
    """The work for attacks with numbers of gangs, after that of a first one that is not counted."""
    arguments = [" ".join([str(gangs), *[str(int(each)) for each in gang]]) for gangs, gang in attacks]
    command = [sys.executable, "-c", PROGRAM, "1 2 2 0 0", *arguments]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()[1:]]


@pytest.mark.parametrize("near_all", [False, True], ids=["near their own", "near all"])
@pytest.mark.parametrize("fits_empty", [False, True], ids=["impossible", "waiting"])
def test_twice_as_many_gangs_with_preferences_cost_twice_the_work_r3_78(
    near_all: bool, fits_empty: bool
) -> None:
    gang = Gang(PODS, near_all=near_all, fits_empty=fits_empty)
    some, many = _count((GANGS, gang), (2 * GANGS, gang))
    assert many <= MOST * some


def test_a_pod_with_many_terms_costs_no_more_than_one_with_two_r3_78() -> None:
    sizes = [(pods, terms) for terms in (2, 64) for pods in (PODS, 2 * PODS)]
    two, two_more, many, many_more = _count(
        *[(2, Gang(pods, terms, fits_empty=True)) for pods, terms in sizes]
    )
    assert many_more - many <= MOST_FOR_TERMS * (two_more - two)
