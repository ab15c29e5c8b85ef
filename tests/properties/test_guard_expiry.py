"""Guards that declare no temporary protection never return one, on random contested clusters."""

from itertools import product
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.action import Action
from tenure.solver.registry import BUILT_IN

from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile

EXAMPLES: Final = 150
LEAST: Final = 30
"""Least number of pairs with each of the two results."""


def sessions() -> list[Session]:
    draws = [SeededDraw(seed) for seed in range(EXAMPLES)]
    return [Session.open(contested_cluster(draw), random_profile(draw), BUILT_IN) for draw in draws]


def may_delay(session: Session, action: Action, preemptor: int, victims: list[int]) -> bool:
    """Whether any guard can protect one of these victims from the preemptor for a limited time."""
    guards = session.guards
    return guards.may_expire(preemptor, victims) or guards.delays_pair(action, preemptor, victims)


def test_temporary_protection_implies_possible_expiry() -> None:
    found = {True: 0, False: 0}
    for session in sessions():
        pod_groups = range(len(session.cluster.pod_groups))
        for victim, preemptor, action in product(pod_groups, pod_groups, BUILT_IN.guarded.actions):
            if victim != preemptor:
                rejection = session.guards.allows_victim(action, preemptor, victim)
                may_end = may_delay(session, action, preemptor, [victim])
                assert may_end or rejection is None or rejection.until is None
                found[may_end] += 1
    assert min(found.values()) > LEAST


def test_expiry_is_possible_for_several_if_possible_for_any() -> None:
    for session in sessions():
        pod_groups = list(range(len(session.cluster.pod_groups)))
        single = [session.guards.may_expire(pod_groups[0], [victim]) for victim in pod_groups]
        assert session.guards.may_expire(pod_groups[0], pod_groups) == any(single)


def test_delay_by_shared_guards_is_that_of_all_guards_without_pairs() -> None:
    for session in sessions():
        pod_groups = range(len(session.cluster.pod_groups))
        for victim, preemptor, action in product(pod_groups, pod_groups, BUILT_IN.guarded.actions):
            if session.guards.cache_key(preemptor) is not None:
                rejection = session.guards.allows_victim(action, preemptor, victim)
                is_delayed = rejection is not None and rejection.until is not None
                assert session.guards.delays(action, preemptor, victim) is is_delayed
