"""The order of nodes for tasks with preferences (semantics R3.67).

Preferences choose among nodes; they decide neither whether nor when a task starts. So nodes where it starts
now precede the others, simulations do not know preferences, and tasks that cannot be placed together with
them are placed without.
"""

from collections.abc import Callable, Iterator, Sequence

from tenure.solver.framework.chains import Chains
from tenure.solver.model.rejection import Rejection, first_rejection
from tenure.solver.model.workload import Task
from tenure.solver.plugin_api.points import equal_scores
from tenure.solver.search.node_order import NodeFit

Checks = Sequence[Callable[[int], Rejection | None]]
Preferences = Sequence[Callable[[Sequence[int]], Sequence[int]]]
"""Scores of nodes, by plugin."""


def preferences_of(chains: Chains, task: int) -> Preferences:
    """Preferences of a task for one attempt to place it; empty: it has none."""
    found = [plugin.preference(task) for plugin in chains.node_preferences]
    return [scores for scores in found if scores is not None]


def in_preferred_order(
    preferences: Preferences,
    task: Task,
    nodes: Iterator[NodeFit],
    checks: Checks,
    check_stop: Callable[[], None],
) -> Iterator[NodeFit]:
    """Nodes where the task fits in the order of its preferences; equal ones stay in the given order.

    The nominated node remains first. Nodes that a check rejects come last: scores are compared among nodes
    that take the task. Calls `check_stop` for each node.
    """
    now: list[int] = []
    soon: list[int] = []
    rejected: list[NodeFit] = []
    are_equal = all(scores is equal_scores for scores in preferences)
    is_first = True
    for fit in nodes:
        check_stop()
        node, is_now = fit
        if is_first and node == task.facts.nominated_node:
            yield fit
        is_first = False
        if first_rejection(checks, node) is not None:
            rejected.append(fit)
        elif are_equal and is_now:
            yield fit
        else:
            (now if is_now else soon).append(node)
    for node in _ranked(preferences, now):
        yield node, True
    for node in _ranked(preferences, soon):
        yield node, False
    yield from rejected


def _ranked(preferences: Preferences, nodes: list[int]) -> list[int]:
    """Nodes by the sum of their scores, the highest first."""
    if len(nodes) < 2:
        return nodes
    totals = [0] * len(nodes)
    for scores in preferences:
        totals = [a + b for a, b in zip(totals, scores(nodes), strict=True)]
    order = sorted(range(len(nodes)), key=totals.__getitem__, reverse=True)
    return [nodes[at] for at in order]
