"""No guard says that it protects nobody for a time only, and then does so: on random contested clusters."""

from itertools import product
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.registry import plugins

from tests.properties.contested import ACTIONS, contested_cluster
from tests.properties.draw import SeededDraw
from tests.properties.guardprofiles import random_profile

EXAMPLES: Final = 150
LEAST: Final = 30
"""Pod groups of which each is said."""


def sessions() -> list[Session]:
    draws = [SeededDraw(seed) for seed in range(EXAMPLES)]
    return [Session.open(contested_cluster(draw), random_profile(draw), plugins()) for draw in draws]


def test_whoever_is_protected_for_a_time_only_may_be_so() -> None:
    found = {True: 0, False: 0}
    for session in sessions():
        guards, pod_groups = session.guards, range(len(session.cluster.pod_groups))
        for victim in pod_groups:
            may_end = guards.may_end([victim])
            asked = product(ACTIONS, pod_groups)
            rejections = [guards.allows_victim(action, who, victim) for action, who in asked if who != victim]
            is_timed = any(each is not None and each.until is not None for each in rejections)
            assert may_end or not is_timed
            found[may_end] += 1
    assert min(found.values()) > LEAST


def test_of_many_any_that_may_be_is_enough() -> None:
    for session in sessions():
        pod_groups = range(len(session.cluster.pod_groups))
        single = [session.guards.may_end([victim]) for victim in pod_groups]
        assert session.guards.may_end(list(pod_groups)) == any(single)
