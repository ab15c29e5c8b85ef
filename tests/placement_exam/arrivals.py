"""What arrives in an exam, and where: 130 % of the GPUs, in the published order of each seed."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.placement_exam.go_random import GoRandom
from tests.placement_exam.trace_lists import WHOLE_GPU, ExamNode, ExamPod

ARRIVED: Final = 130
"""Percent of the cluster's GPUs that arrive."""


class Arrivals(NamedTuple):
    """One play of the exam."""

    nodes: list[ExamNode]
    """With the names that order equal nodes."""
    pods: list[ExamPod]
    """In the order of their arrival; copies of pods have names of their own."""


def arrivals(nodes: Sequence[ExamNode], pods: Sequence[ExamPod], seed: int) -> Arrivals:
    """The pods in random order, some of them removed or, at the end, copied; nodes get random prefixes.

    `nodes` and `pods` are sorted by name. One number is drawn and lost: the published simulator prints one.
    """
    random = GoRandom(seed)
    random.int63()
    order = list(pods)
    random.shuffle(order)
    most = sum(node.gpus for node in nodes) * WHOLE_GPU * ARRIVED // 100
    demand = sum(pod.total_gpu_milli for pod in pods)
    if demand > most:
        _remove(order, demand, most, random)
    elif demand < most:
        order += _copies(pods, demand, most, random)
    numbers = random.permutation(len(nodes))
    named = [node._replace(name=f"{n:04}-{node.name}") for n, node in zip(numbers, nodes, strict=True)]
    return Arrivals(sorted(named), order)


def _remove(order: list[ExamPod], demand: int, most: int, random: GoRandom) -> None:
    while demand > most:
        demand -= order.pop(random.below(len(order))).total_gpu_milli


def _copies(pods: Sequence[ExamPod], demand: int, most: int, random: GoRandom) -> list[ExamPod]:
    """Copies until the next would exceed the GPUs; the published test counts one GPU of the next pod."""
    copies = list[ExamPod]()
    while True:
        pod = pods[random.below(len(pods))]
        if demand + pod.gpu_milli > most:
            return copies
        demand += pod.total_gpu_milli
        copies.append(pod._replace(name=f"{pod.name}-tuned-{len(copies)}"))
