"""The check `victims`: what decisions say about their victims, on random clusters, judged by counting.

The judge places the beneficiary by trying every node. It shares nothing with the search: neither ledger nor
slots.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Final

import typer
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup
from tenure.solver.model.placement import Placement
from tenure.solver.model.workload import Member, PodSet, leaves
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import placements

from tests.checks import Counts
from tests.properties.checks.gang_minimum import has_minimum
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.draw import SeededDraw

BATCH: Final = 20
SEARCHED: Final = ("consolidation", "reclaim", "preempt")
Free = list[list[int]]
"""Free amounts by node and resource."""


def find_needless_victims(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Victims of proven sets that could stay, with the beneficiary placed and all others gone."""
    for number, group in enumerate(decision.groups):
        known = group.victim_set
        if known is None or not known.minimality.is_shown:
            continue
        before = placements(cluster, decision.groups[:number])
        free = _free_without(cluster, group, before)
        wanted = [step.task for step in (*group.reservations, *group.bindings)]
        wanted = [task for task in wanted if cluster.tasks[task].pod_group == group.beneficiary]
        for staying in _smallest_parts(cluster, group, before):
            left = [list(amounts) for amounts in free]
            for task in staying:
                _take(cluster, left, task, cluster.tasks[task].placement.node)
            if _fits(cluster, left, wanted):
                names = ", ".join(cluster.tasks[task].facts.uid for task in staying)
                yield f"{group.action} is proven, and {names} could stay"


def _free_without(cluster: Cluster, group: DecisionGroup, before: Sequence[Placement]) -> Free:
    """Free amounts once the victims of a group and all of earlier groups are gone, without beneficiary."""
    gone = {step.task for step in group.evictions}
    free = [list(node.allocatable) for node in cluster.nodes]
    for task, place in enumerate(before):
        if place.status.is_active_allocated and task not in gone:
            _take(cluster, free, task, place.node)
    return free


def _take(cluster: Cluster, free: Free, task: int, node: int) -> None:
    for slot, amount in enumerate(cluster.tasks[task].shape.request):
        free[node][slot] -= amount


def _smallest_parts(
    cluster: Cluster, group: DecisionGroup, before: Sequence[Placement]
) -> Iterator[Sequence[int]]:
    """What may stay of each victim: one pod beside a running core, else any pods that are a core."""
    victims: dict[int, list[int]] = {}
    for step in group.evictions:
        victims.setdefault(cluster.tasks[step.task].pod_group, []).append(step.task)
    for index, lost in victims.items():
        root = cluster.pod_groups[index].root
        tasks = cluster.pod_groups[index].tasks
        left = {task for task in tasks if before[task].status.is_active_allocated} - set(lost)
        for size in range(1, len(lost) + 1):
            parts = [part for part in combinations(lost, size) if _is_whole(root, left | set(part))]
            yield from parts
            if parts:
                break


def _is_whole(member: Member, pods: set[int]) -> bool:
    """Whether every sub group that has any of the pods has its minimum."""
    if isinstance(member, PodSet):
        return not pods.intersection(member.tasks) or has_minimum(member, pods)
    inner = {task for leaf in leaves(member) for task in leaf.tasks}
    is_empty = not pods.intersection(inner)
    return all(_is_whole(each, pods) for each in member.members) and (is_empty or has_minimum(member, pods))


def _fits(cluster: Cluster, free: Free, tasks: Sequence[int]) -> bool:
    """Whether some placement of the tasks exists."""
    if not tasks:
        return True
    request = cluster.tasks[tasks[0]].shape.request
    for node, amounts in enumerate(free):
        if all(amount >= wanted for amount, wanted in zip(amounts, request, strict=True) if wanted):
            _take(cluster, free, tasks[0], node)
            if _fits(cluster, free, tasks[1:]):
                return True
            for slot, wanted in enumerate(request):
                amounts[slot] += wanted
    return False


def find_additional_victims(plain: CycleResult, smaller: CycleResult) -> Iterator[str]:
    """Pods that only the first decision with fill back disrupts, compared with the first one without."""
    first, other = (_first_search(each) for each in (plain, smaller))
    if (
        first is None
        or other is None
        or (first.action, first.beneficiary) != (other.action, other.beneficiary)
    ):
        return
    before, after = ({step.task for step in group.evictions} for group in (first, other))
    if not after <= before:
        yield f"{first.action} disrupts {len(after - before)} more pods than without fill back"


def _first_search(decision: CycleResult) -> DecisionGroup | None:
    return next((group for group in decision.groups if group.evictions and group.action in SEARCHED), None)


def judge(seed: int) -> Counter[str]:
    """Decide on the cluster of a seed by default, and in victim order with and without fill back. Violations
    are counted by their text.
    """
    cluster = contested_cluster(SeededDraw(seed))
    results = {"least": answer(cluster, default_profile())}
    for mode in ("never", "full"):
        profile = replace(default_profile(), options=CycleOptions(fill_back=mode, victim_choice="inOrder"))
        results[mode] = answer(cluster, profile)
    found = Counter({"clusters": 1})
    for mode, decision in results.items():
        found[f"pods disrupted, {mode}"] = sum(len(group.evictions) for group in decision.groups)
    for group in (*results["full"].groups, *results["least"].groups):
        if group.victim_set is not None:
            found[f"{group.action}: {group.victim_set.minimality.name}"] += 1
            found["pods put back"] += group.victim_set.put_back
            found["smaller sets tried"] += group.victim_set.tried
    problems = [*find_needless_victims(cluster, results["full"])]
    problems += [f"least: {problem}" for problem in find_needless_victims(cluster, results["least"])]
    problems += find_additional_victims(results["never"], results["full"])
    found["wrong"] = bool(problems)
    found.update(f"seed {seed}: {problem}" for problem in problems)
    return found


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 10_000,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
) -> Counts:
    """Judge victims: none of a proven set can stay, and giving victims back disrupts no other pod."""
    return report(count_all(judge, range(first, first + count), count, BATCH, "deciding"), count)
