"""Why pods find no place although nodes have the amounts: other pods, or a topology constraint (R13.50)."""

from collections.abc import Sequence
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.ledger import NO
from tenure.solver.model.rejection import NOT_YET, Rejection, first_rejection
from tenure.solver.model.workload import Member, SubGroupSet
from tenure.solver.search.needed_victims import providers_first
from tenure.solver.search.node_order import bits
from tenure.terms.formatting import format_count

_MOST_RELATIONS: Final = 3
"""Relations that a reason names."""


def explain_misplaced(context: CycleContext, pod_group: int, tasks: Sequence[int]) -> str:
    """Why a pod group finds no place although the nodes have the amounts; empty: that is not known."""
    if relation := find_relation(context, tasks):
        return relation
    if has_topology(context.session.cluster.pod_groups[pod_group].root):
        with context.session.statement() as trial:
            nodes = context.components.node_order.all_nodes
            if context.placer.place_anywhere(trial, [*tasks], nodes):
                return "its topology constraint is not met"
    return ""


def find_relation(context: CycleContext, tasks: Sequence[int]) -> str:
    """What other pods have to do with it, if they alone keep a task from every node that could take it.

    A node is named only for what the pod requires itself: another owner's pods are behind the rest.
    """
    session = context.session
    if not session.chains.placement_filters:
        return ""
    ledger, problems = session.ledger, dict[Rejection, list[str]]()
    nodes = context.components.node_order.all_nodes
    with session.statement() as trial:
        ordered = providers_first(tasks, session.chains)
        refused = next((t for t in ordered if not context.placer.place_anywhere(trial, [t], nodes)), None)
        if refused is None:
            return ""
        shape = session.cluster.tasks[refused].shape
        checks = session.chains.placement_checks(refused)
        for node in bits(context.components.allowed_nodes.of(shape)):
            session.stop.check()
            if ledger.fit(shape, node) == NO:
                continue
            problem = first_rejection(checks, node)
            if problem is None or problem is NOT_YET:
                return ""
            problems.setdefault(problem, []).append(session.cluster.nodes[node].facts.name)
    relations = sorted(problems.items(), key=lambda each: (not each[0].by_own, -len(each[1])))
    return ", and ".join([_on_nodes(problem, names) for problem, names in relations[:_MOST_RELATIONS]])


def has_topology(member: Member) -> bool:
    """Whether it or any subgroup of it has a topology constraint."""
    inner = member.members if isinstance(member, SubGroupSet) else ()
    return member.topology is not None or any(map(has_topology, inner))


def _on_nodes(problem: Rejection, names: Sequence[str]) -> str:
    """A problem, and where it is."""
    if not problem.by_own:
        return f"{problem.detail} on {format_count(len(names), 'node')}"
    more = f" and {format_count(len(names) - 1, 'more node')}" if len(names) > 1 else ""
    return f"{problem.detail} on node {names[0]}{more}"
