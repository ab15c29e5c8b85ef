"""Disruption budgets and rates, judged by the snapshot and the decisions alone (semantics P15.1, P15.2)."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from tenure.solver.model.caller_state import InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup, InFlightGroupState
from tenure.solver.model.disruption_limits import EVICTION_RATES, EvictionRate
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions

_ORDINARY: Final = CycleOptions()


def find_exceeded_budgets(
    cluster: Cluster, decision: CycleResult, options: CycleOptions = _ORDINARY
) -> Iterator[str]:
    """No budget is exceeded by decisions and open evictions together, unless it holds no longer; what the
    result states adds up.
    """
    known = {budget.name: budget for budget in cluster.disruption_budgets}
    spent, in_flight = Counter[str](), Counter[str]()
    open_evictions = set[int]()
    for status in decision.in_flight:
        group = cluster.in_flight[status.group]
        if status.state is InFlightGroupState.IN_FLIGHT:
            on_node = (s for s in group.evictions if s.task >= 0)
            open_evictions |= {s.task for s in on_node if cluster.tasks[s.task].placement.node == s.node}
    for index in open_evictions:
        if cluster.tasks[index].placement.status is TaskStatus.RUNNING:
            facts = cluster.tasks[index].facts
            counted = (name for name in facts.disruption_budgets if name in known)
            in_flight.update(name for name in counted if facts.uid not in known[name].counted_pods)
    still = Counter({name: max(each.allowed - in_flight[name], 0) for name, each in known.items()})
    for group in decision.groups:
        runs = [e for e in group.evictions if cluster.tasks[e.task].placement.status is TaskStatus.RUNNING]
        own = Counter(name for each in runs for name in cluster.tasks[each.task].facts.disruption_budgets)
        over = {name for name, number in own.items() if number > still[name]}
        if over and not is_patience_over(cluster, group, options, cluster.now):
            yield f"budgets {sorted(over)} allow less than {group.action} disrupts"
        for each in runs:
            if over.intersection(cluster.tasks[each.task].facts.disruption_budgets) != {
                *each.overridden_budgets
            }:
                yield f"an eviction overrides {each.overridden_budgets}, and {sorted(over)} allow less"
        spent += own
        still = Counter({name: max(left - own[name], 0) for name, left in still.items()})
    stated = {each.name: each for each in decision.disruption_budgets}
    for name, budget in known.items():
        left = max(budget.allowed - in_flight[name] - spent[name], 0)
        found = stated.get(name)
        if found is None and (spent[name] or in_flight[name]):
            yield f"budget {name} is spent from and not reported"
        elif found is not None and (found.allowed, found.in_flight, found.spent, found.left) != (
            budget.allowed,
            in_flight[name],
            spent[name],
            left,
        ):
            yield f"budget {name} is reported as {found}, with {spent[name]} spent and {left} left"


def is_patience_over(
    cluster: Cluster, group: DecisionGroup | InFlightGroup, options: CycleOptions, time: int
) -> bool:
    """Whether budgets hold no longer for what a group evicts at a time (semantics R15.13)."""
    facts = cluster.pod_groups[group.beneficiary].facts
    victim = facts.victim
    times = [facts.creation, facts.last_start, facts.last_eviction, victim.eligible, victim.not_before]
    waited = time - max(each for each in times if each)
    return group.action == "reclaim" and 0 <= options.budget_patience <= waited


def find_hasty_evictions(cluster: Cluster, decision: CycleResult, options: CycleOptions) -> Iterator[str]:
    """No limit of the cycle is exceeded; each group had the tokens that it needs; tokens add up (P15.2)."""
    groups = [(group, [evict.task for evict in group.evictions]) for group in decision.groups]
    total = sum(len(tasks) for _, tasks in groups)
    if 0 <= options.max_disrupted_per_cycle < total:
        yield f"{total} pods are disrupted in a cycle, at most {options.max_disrupted_per_cycle} may be"
    for beneficiary in {group.beneficiary for group, _ in groups}:
        own = sum(len(tasks) for group, tasks in groups if group.beneficiary == beneficiary)
        if 0 <= options.max_disrupted_per_pod_group < own:
            yield f"{own} pods are disrupted for a pod group"
    states = {state.name: state for state in cluster.carried.rows(EVICTION_RATES)}
    stated = {status.name: status for status in decision.eviction_rates}
    for rate in options.eviction_rates:
        tokens = Fraction(rate.burst)
        if rate.name in states:
            elapsed = max(cluster.now - states[rate.name].time, 0)
            tokens = Fraction(states[rate.name].tokens, 1000) + Fraction(elapsed * rate.added, rate.period)
            tokens = min(tokens, Fraction(rate.burst))
        if not 0 <= tokens - Fraction(stated[rate.name].before, 1000) < Fraction(1, 1000):
            yield f"rate {rate.name} is reported with {stated[rate.name].before}, not {float(tokens)}"
        paid = 0
        for group, tasks in groups:
            units = counted_units(cluster, rate, group, tasks)
            if units and tokens - paid < min(units, rate.burst):
                yield f"rate {rate.name} has {float(tokens - paid)} tokens, and {group.action} takes {units}"
            paid += units
        if stated[rate.name].after != stated[rate.name].before - paid * 1000:
            yield f"rate {rate.name} is charged with something else than {paid}"


def counted_units(cluster: Cluster, rate: EvictionRate, group: DecisionGroup, tasks: list[int]) -> int:
    """Pods or pod groups that a decision group disrupts, as far as the rate counts them."""

    def is_below(pod_group: int) -> bool:
        queue = cluster.pod_groups[pod_group].queue
        names = (
            [] if queue is None else [cluster.queues[each].facts.name for each in cluster.queues[queue].path]
        )
        return rate.queue in names

    if rate.actions and group.action not in rate.actions:
        return 0
    if rate.scope == "preemptorQueue" and not is_below(group.beneficiary):
        return 0
    victims = [cluster.tasks[task].pod_group for task in tasks]
    if rate.scope == "victimQueue":
        victims = [victim for victim in victims if is_below(victim)]
    return len(victims) if rate.unit == "pods" else len(set(victims))
