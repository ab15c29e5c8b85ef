"""The check `feasible-nodes`: on random clusters, Tenure's nodes of a pod are those of kube-scheduler."""

from collections import Counter
from typing import Annotated, Final, NamedTuple

import typer
from rich.progress import track

from tests.checks import Counts
from tests.kubernetes.feasible_nodes.generator import random_question
from tests.kubernetes.feasible_nodes.kube_filters import KubeFilters, run_kube_filters
from tests.kubernetes.feasible_nodes.on_purpose import as_read
from tests.kubernetes.feasible_nodes.tenure_nodes import ask_tenure
from tests.properties.generators.draw import SeededDraw

SHOWN: Final = 20
"""Differences that are printed."""


class Compared(NamedTuple):
    """The nodes of one pod, compared."""

    different: list[str]
    """How they differ, a line for each node."""
    on_purpose: str
    """Why Tenure has other nodes, on purpose; "": it has the same ones."""
    rejections: Counter[str]
    """Nodes by kube-scheduler's reason against them."""


def compare(filters: KubeFilters, seed: int) -> Compared:
    """Compare the nodes of the pod in the cluster of a seed."""
    question = random_question(SeededDraw(seed))
    answer, placed = filters.ask(question), ask_tenure(question)
    read, reason = as_read(question)
    if read is None:
        nodes = frozenset[str]()
    else:
        nodes = answer.feasible if read is question else filters.ask(read).feasible
    about = f"seed {seed} ({', '.join(question.features)})"
    different = [
        f"{about}: {node} only by Tenure, kube-scheduler: {answer.reasons.get(node)}"
        for node in sorted(placed.feasible - nodes)
    ]
    different += [
        f"{about}: {node} only by kube-scheduler; Tenure: {placed.blocked_reason or 'no reason'}"
        for node in sorted(nodes - placed.feasible)
    ]
    on_purpose = "" if nodes == answer.feasible else reason
    return Compared(different, on_purpose, Counter(answer.reasons.values()))


def main(
    count: Annotated[int, typer.Argument(min=1, help="Clusters; each number below is the seed of one")] = 300,
) -> Counts:
    """Compare the feasible nodes of one pod in random clusters with those of kube-scheduler's own filters."""
    failed, lines, on_purpose, rejections = 0, list[str](), Counter[str](), Counter[str]()
    with run_kube_filters() as filters:
        for seed in track(range(count), "asking"):
            found = compare(filters, seed)
            failed += bool(found.different)
            lines += found.different
            rejections += found.rejections
            if found.on_purpose:
                on_purpose[found.on_purpose] += 1
    for reason, number in rejections.most_common():
        print(f"{number:>7} nodes rejected by kube-scheduler: {reason}")
    for reason, number in on_purpose.most_common():
        print(f"{number:>7} clusters with other nodes on purpose: {reason}")
    print("\n".join(lines[:SHOWN]))
    return Counts(count - failed, failed)
