"""No guard says that it protects nobody for a time only, and then does so: on random contested clusters."""

from itertools import product
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.registry import BUILT_IN

from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile

EXAMPLES: Final = 150
LEAST: Final = 30
"""Pod groups of which each is said."""


def sessions() -> list[Session]:
    draws = [SeededDraw(seed) for seed in range(EXAMPLES)]
    return [Session.open(contested_cluster(draw), random_profile(draw), BUILT_IN) for draw in draws]


def test_temporary_protection_implies_possible_expiry() -> None:
    found = {True: 0, False: 0}
    for session in sessions():
        guards, pod_groups = session.guards, range(len(session.cluster.pod_groups))
        for victim in pod_groups:
            may_end = guards.may_expire([victim])
            asked = product(BUILT_IN.guarded.actions, pod_groups)
            rejections = [guards.allows_victim(action, who, victim) for action, who in asked if who != victim]
            is_timed = any(each is not None and each.until is not None for each in rejections)
            assert may_end or not is_timed
            found[may_end] += 1
    assert min(found.values()) > LEAST


def test_expiry_is_possible_for_several_if_possible_for_any() -> None:
    for session in sessions():
        pod_groups = range(len(session.cluster.pod_groups))
        single = [session.guards.may_expire([victim]) for victim in pod_groups]
        assert session.guards.may_expire(list(pod_groups)) == any(single)
