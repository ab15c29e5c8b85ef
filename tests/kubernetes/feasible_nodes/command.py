"""The check `feasible-nodes`: on random clusters, Tenure's nodes of a pod are those of kube-scheduler.

So is its choice among them: one of those that kube-scheduler scores best by what the pod prefers.
"""

from collections import Counter
from collections.abc import Callable
from itertools import count as count_from
from itertools import product
from typing import Annotated, Final, NamedTuple

import typer
from rich.progress import track

from tests.checks import Counts
from tests.kubernetes.feasible_nodes.generator import (
    evicting_question,
    preferring_question,
    random_question,
)
from tests.kubernetes.feasible_nodes.kube_filters import Answer, KubeFilters, Question, run_kube_filters
from tests.kubernetes.feasible_nodes.on_purpose import as_read
from tests.kubernetes.feasible_nodes.tenure_nodes import find_placement, find_start
from tests.kubernetes.observe.cached_cluster import uid_of
from tests.properties.generators.draw import Draw, SeededDraw

SHOWN: Final = 20
"""Differences that are printed."""
DRAWS: Final = (random_question, preferring_question)
PREFERENCES: Final = ("NodeAffinity", "TaintToleration", "InterPodAffinity", "PodTopologySpread")
"""Scores of kube-scheduler that follow from preferences."""


class Compared(NamedTuple):
    """The nodes of one pod, compared."""

    different: list[str]
    """How they differ, a line for each node."""
    on_purpose: list[str]
    """Why Tenure has or prefers other nodes, on purpose; empty: it does not."""
    rejections: Counter[str]
    """Nodes by kube-scheduler's reason against them."""
    has_choice: bool
    """Whether preferences distinguish nodes."""


def best_nodes(answer: Answer) -> frozenset[str]:
    """Nodes with the highest sum of the scores for preferences."""
    totals = {node: sum(found.get(name, 0) for name in PREFERENCES) for node, found in answer.scores.items()}
    return frozenset(node for node, total in totals.items() if total == max(totals.values()))


def compare(filters: KubeFilters, seed: int, draws: Callable[[Draw], Question]) -> Compared:
    """Compare the nodes of the pod in the cluster that a function draws with a seed."""
    question = draws(SeededDraw(seed))
    answer, placed = filters.answer(question), find_placement(question)
    read, reasons = as_read(question)
    if read is None:
        nodes = best = frozenset[str]()
    else:
        expected = answer if read is question else filters.answer(read)
        nodes, best = expected.feasible, best_nodes(expected)
    about = f"seed {seed} ({', '.join(question.features)})"
    different = [
        f"{about}: {node} only by Tenure, kube-scheduler: {answer.reasons.get(node)}"
        for node in sorted(placed.feasible - nodes)
    ]
    different += [
        f"{about}: {node} only by kube-scheduler; Tenure: {placed.blocked_reason or 'no reason'}"
        for node in sorted(nodes - placed.feasible)
    ]
    if placed.preferred not in (best or {""}):
        different.append(f"{about}: placed on {placed.preferred}; kube-scheduler prefers {sorted(best)}")
    on_purpose = [] if (nodes, best) == (answer.feasible, best_nodes(answer)) else reasons
    return Compared(different, on_purpose, Counter(answer.reasons.values()), best != nodes)


def judge_start(filters: KubeFilters, seed: int) -> tuple[bool, list[str]]:
    """Whether the pod of a seed starts after evictions, and that kube-scheduler refuses it there then.

    The pods that terminated before have left as well, and victims that are placed again are there.
    """
    question = evicting_question(SeededDraw(seed))
    start = find_start(question)
    if start is None:
        return False, []
    left = [each for each in question.pods if "deletionTimestamp" not in each["metadata"]]
    stay = [each for each in left if uid_of("pods", each) not in start.evicted]
    for each in left:
        if (node := start.moved.get(uid_of("pods", each))) is not None:
            stay.append({**each, "spec": {**each["spec"], "nodeName": node}})
    read, _ = as_read(question._replace(pods=stay))
    if read is None:
        return True, [f"seed {seed}: starts, though it cannot be read"]
    answer = filters.answer(read)
    if start.node in answer.feasible:
        return True, []
    about = f"seed {seed} ({', '.join(question.features)})"
    return True, [
        f"{about}: on {start.node} after evictions; kube-scheduler: {answer.reasons.get(start.node)}"
    ]


def main(
    count: Annotated[int, typer.Argument(min=1, help="Clusters; each number below is the seed of one")] = 300,
) -> Counts:
    """Compare the nodes of a pod in random clusters with those of kube-scheduler's own filters and scores.

    A second cluster for each number has room and a pod with preferences. In a third one the pod needs
    victims: kube-scheduler must accept its node in the world that they have left.
    """
    failed, choices, lines = 0, 0, list[str]()
    on_purpose, rejections = Counter[str](), Counter[str]()
    with run_kube_filters() as filters:
        for seed, draws in track([*product(range(count), DRAWS)], "asking"):
            found = compare(filters, seed, draws)
            failed += bool(found.different)
            choices += found.has_choice
            lines += found.different
            rejections += found.rejections
            on_purpose.update(found.on_purpose)
        seeds = count_from(0)
        for _ in track(range(count), "evicting"):
            is_started = False
            while not is_started:
                is_started, problems = judge_start(filters, next(seeds))
            failed += bool(problems)
            lines += problems
    for reason, number in rejections.most_common():
        print(f"{number:>7} nodes rejected by kube-scheduler: {reason}")
    print(f"{choices:>7} clusters in which preferences distinguish nodes")
    print(f"{count:>7} clusters in which the pod starts after evictions")
    for reason, number in on_purpose.most_common():
        print(f"{number:>7} clusters with other nodes on purpose: {reason}")
    print("\n".join(lines[:SHOWN]))
    return Counts((len(DRAWS) + 1) * count - failed, failed)
