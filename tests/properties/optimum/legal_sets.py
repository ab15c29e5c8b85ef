"""All legal sets of victims of a small snapshot, by exhaustion, for tests of what CP-SAT proves.

Nothing is shared with `least_victims` but the facts: sets are listed, and each rule is applied to a set.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import chain, combinations, product

from tests.properties.optimum.cluster_facts import Candidate, ClusterFacts
from tests.properties.optimum.gang_snapshots import GANG


def legal_sets(
    facts: ClusterFacts, candidates: Sequence[Candidate], in_order: bool
) -> Iterator[frozenset[str]]:
    """Every legal set of pods of these candidates."""
    for parts in product(*(list(_parts(candidate, in_order)) for candidate in candidates)):
        taken = dict(zip([candidate.uid for candidate in candidates], parts, strict=True))
        pods = frozenset(chain.from_iterable(parts))
        if _fits(facts, pods) and (facts.action == "preempt" or _is_fair(facts, candidates, taken)):
            yield pods


def _parts(candidate: Candidate, in_order: bool) -> Iterator[tuple[str, ...]]:
    """What may be taken of one candidate."""
    pods, beyond = candidate.pods, len(candidate.pods) - candidate.minimum
    surplus = pods[candidate.minimum :] if candidate.keeps_core else pods
    for number in range(beyond + 1):
        if number <= candidate.most:
            yield from [pods[len(pods) - number :]] if in_order else combinations(surplus, number)
    if candidate.minimum and not candidate.keeps_core and candidate.most >= len(pods):
        yield pods


def _fits(facts: ClusterFacts, gone: Set[str]) -> bool:
    """Whether the nodes have places for all pods of the gang."""
    request, places = facts.amounts[facts.waiting[0]], 0
    for node, free in facts.free.items():
        left = list(free)
        for pod in gone:
            if facts.node_of[pod] == node:
                left = [a + b for a, b in zip(left, facts.amounts[pod], strict=True)]
        places += min(has // needs for has, needs in zip(left, request, strict=True) if needs)
    return places >= len(facts.waiting)


def _is_fair(facts: ClusterFacts, candidates: Sequence[Candidate], taken: dict[str, tuple[str, ...]]) -> bool:
    """Take the chunks one after the other (R4.50 to R4.55)."""
    left = {name: queue.used for name, queue in facts.queues.items()}
    loses: set[str] = set()
    in_order = sorted(candidates, key=lambda each: each.uid, reverse=True)
    in_order.sort(key=lambda each: -each.created)
    in_order.sort(key=lambda each: (each.queue, each.priority, len(each.pods) <= each.minimum))
    for candidate in in_order:
        pods = taken[candidate.uid]
        core = pods[: candidate.minimum]
        chunks = [1] * (len(pods) - len(core)) + ([len(core)] if core else [])
        mine, level = facts.levels(candidate.queue)
        own, victim = facts.queues[mine], facts.queues[level]
        fits_quota = own.used + facts.requested <= own.quota
        for chunk in chunks:
            is_beyond_quota = fits_quota and left[level] > victim.quota
            if not (left[level] > max(victim.quota, facts.fair[level]) or is_beyond_quota):
                return False
            for name in facts.path(candidate.queue):
                left[name] -= chunk * candidate.gpus
                loses.add(name)
    return not any(_is_saturated(facts, name, left, loses) for name in facts.path(facts.groups[GANG].queue))


def _is_saturated(facts: ClusterFacts, name: str, left: dict[str, int], loses: Set[str]) -> bool:
    """Whether a queue of the gang is over its share, and at least as saturated as a sibling that loses."""
    used, fair = left[name] + facts.requested, facts.fair[name]
    siblings = [each for each in facts.queues.values() if each.parent == facts.queues[name].parent]
    return used > fair and any(
        each.name != name
        and each.name in loses
        and facts.fair[each.name] > 0
        and (fair == 0 or used / fair >= left[each.name] / facts.fair[each.name])
        for each in siblings
    )
