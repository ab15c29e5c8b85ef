"""Budgets, rates and limits while notices wait, judged by snapshot and decisions alone (P15.1, R16.7)."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup, InFlightGroupState
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions

from tests.properties.checks.budget_checks import counted_units


def find_exceeded_limits(cluster: Cluster, decision: CycleResult, options: CycleOptions) -> Iterator[str]:
    """Violations of one cycle; open evictions of earlier cycles are not in the cluster."""
    yield from _budgets(cluster, decision)
    new = [(group, _announced_or_evicted(group)) for group in decision.groups]
    total = sum(len(tasks) for _, tasks in new)
    if 0 <= options.max_disrupted_per_cycle < total:
        yield f"{total} pods are told or evicted in a cycle, at most {options.max_disrupted_per_cycle} may be"
    states = {state.name: state for state in cluster.eviction_rates}
    stated = {status.name: status for status in decision.eviction_rates}
    for rate in options.eviction_rates:
        full = Fraction(rate.burst)
        tokens, status = full, stated[rate.name]
        if rate.name in states:
            elapsed = max(cluster.now - states[rate.name].time, 0)
            refilled = Fraction(states[rate.name].tokens, 1000) + Fraction(elapsed * rate.added, rate.period)
            back = [counted_units(cluster, rate, g, [*g.notices.withdrawn]) for g in decision.groups]
            tokens = min(min(refilled, full) + sum(back), full)
        if not 0 <= tokens - Fraction(status.before, 1000) < Fraction(1, 1000):
            yield f"rate {rate.name} is reported with {status.before}, not {float(tokens)}"
        paid = 0
        for group, tasks in new:
            units = counted_units(cluster, rate, group, tasks)
            if units and tokens - paid < min(units, rate.burst):
                yield f"rate {rate.name} has too few tokens for {group.action}"
            paid += units
        if status.after != status.before - paid * 1000:
            yield f"rate {rate.name} is charged with something else than {paid}"


def _announced_or_evicted(group: DecisionGroup) -> list[int]:
    """Pods that are told now, or evicted without having been told before."""
    evicted = () if group.fulfills_group else group.evictions
    return [step.task for step in (*group.notices.evictions, *evicted)]


def _budgets(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """What is evicted and what waits for its eviction is within each budget."""
    kept = [each.group for each in decision.in_flight if each.state is InFlightGroupState.IN_FLIGHT]
    disrupted = {step.task for index in kept for step in cluster.in_flight[index].notices}
    for group in decision.groups:
        disrupted |= {step.task for step in (*group.notices.evictions, *group.evictions)}
    spent, known = Counter[str](), {budget.name: budget.allowed for budget in cluster.disruption_budgets}
    for task in (cluster.tasks[index] for index in disrupted if index >= 0):
        if task.placement.status is TaskStatus.RUNNING:
            spent.update(task.facts.disruption_budgets)
    for name, number in sorted(spent.items()):
        if number > max(known.get(name, 0), 0):
            yield f"budget {name} allows {known.get(name, 0)}, and {number} are told or evicted"
