"""Budgets, rates and limits while notices wait, judged by snapshot and decisions alone (P15.1, R16.7)."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup, InFlightGroupState
from tenure.solver.model.disruption_limits import EVICTION_RATES, DisruptionBudget
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions

from tests.properties.checks.budget_checks import counted_units, is_patience_over


def find_exceeded_limits(cluster: Cluster, decision: CycleResult, options: CycleOptions) -> Iterator[str]:
    """Violations of one cycle; open evictions of earlier cycles are not in the cluster."""
    yield from _budgets(cluster, decision, options)
    new = [(group, _announced_or_evicted(group)) for group in decision.groups]
    total = sum(len(tasks) for _, tasks in new)
    if 0 <= options.max_disrupted_per_cycle < total:
        most = options.max_disrupted_per_cycle
        yield f"{total} pods get notice or are evicted in a cycle, at most {most} may be"
    states = {state.name: state for state in cluster.carried.rows(EVICTION_RATES)}
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


def _budgets(cluster: Cluster, decision: CycleResult, options: CycleOptions) -> Iterator[str]:
    """What is evicted and what waits for its eviction is within each budget.

    A budget that is used up now does not end a notice if it allows disruptions again, or holds no longer, by
    the eviction.
    """
    kept = [each.group for each in decision.in_flight if each.state is InFlightGroupState.IN_FLIGHT]
    ends = {
        step.task: group.evict_time
        for group in map(cluster.in_flight.__getitem__, kept)
        if not is_patience_over(cluster, group, options, group.evict_time)
        for step in group.notices
    }
    for group in decision.groups:
        if is_patience_over(cluster, group, options, cluster.now):
            continue
        ends.update((step.task, cluster.now) for step in (*group.notices.evictions, *group.evictions))
    known = {budget.name: budget for budget in cluster.disruption_budgets}
    spent = Counter[str]()
    for index, end in ends.items():
        task = cluster.tasks[index] if index >= 0 else None
        if task is not None and task.placement.status is TaskStatus.RUNNING:
            names = task.facts.disruption_budgets
            spent.update([name for name in names if not _opens(known.get(name), cluster.now, end)])
    for name, number in sorted(spent.items()):
        allowed = known[name].allowed if name in known else 0
        if number > max(allowed, 0):
            yield f"budget {name} allows {allowed}, and {number} are told or evicted"


def _opens(budget: DisruptionBudget | None, now: int, end: int) -> bool:
    return budget is not None and budget.next_allowed is not None and now < budget.next_allowed <= end
