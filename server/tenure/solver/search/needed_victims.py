"""Victims that the preemptor needs where they are, by a required affinity or for its topology spread (R5.64).

Victims are accumulated in their order. Where one that is needed comes early, no scenario behind it can
succeed, although one without it could. So a scenario that failed is tried without them: all, then one at a
time.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tenure.solver.framework.chains import Chains
from tenure.solver.plugin_api.scenario import Batches, Scenario

MOST: Final = 4
"""Victims that are left out one at a time."""


def without_needed(scenario: Scenario, chains: Chains) -> Iterator[Scenario]:
    """Scenarios without some of the victims; none if the preemptor needs no victim."""
    if not chains.pod_dependencies:
        return
    victims = [task for tasks in scenario.victims().values() for task in tasks]
    found = chains.needed(scenario.pending, victims, near=False)
    if not found:
        return
    needed: dict[int, int] = {}
    for number, batch in enumerate((*scenario.recorded, *scenario.potential)):
        if batch.pod_group not in needed and not found.isdisjoint(batch.tasks):
            needed[batch.pod_group] = number
    kept = [needed] if len(needed) > 1 else []
    kept.extend({pod_group: needed[pod_group]} for pod_group in list(needed)[:MOST])
    for left_out in kept:
        smaller = _without(scenario, left_out)
        if smaller.recorded or smaller.potential:
            yield smaller


def providers_first(tasks: Sequence[int], chains: Chains) -> Sequence[int]:
    """Tasks of one attempt, each behind those that it must be near (R3.76)."""
    if not (chains.pod_dependencies and chains.needed(tasks, tasks, near=True)):
        return tasks
    ordered, left = list[int](), list(tasks)
    while left:
        free = next(
            (task for task in left if not chains.needed((task,), [t for t in left if t != task], near=True)),
            None,
        )
        if free is None:
            break
        ordered.append(free)
        left.remove(free)
    return [*ordered, *left]


def _without(scenario: Scenario, left_out: dict[int, int]) -> Scenario:
    """Without the batches of these pod groups from a number on: the surplus goes before the core."""

    def kept(batches: Batches, first: int) -> Batches:
        found = []
        for number, batch in enumerate(batches, first):
            if number < left_out.get(batch.pod_group, number + 1):
                found.append(batch)
        return tuple(found)

    recorded, potential = kept(scenario.recorded, 0), kept(scenario.potential, len(scenario.recorded))
    return Scenario(scenario.preemptor, scenario.pending, recorded, potential, scenario.by_pod_group)
