"""The published measure of fragmentation, and the improved value, as formulas in fractions for one node.

Independent of the solver, which computes the same in integers, by class of nodes and from kept sums.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from tests.placement_exam.trace_lists import WHOLE_GPU, ExamPod

COVERED: Final = Fraction(95, 100)
COPIES: Final = Fraction(1, 10)
"""Weight of the term for copies of a pod."""


class Target(NamedTuple):
    """A request of the mix."""

    cpu_milli: int
    gpu_milli: int
    gpus: int
    models: str


class FreeNode(NamedTuple):
    """What is free on a node."""

    model: str
    cpu_milli: int
    devices: tuple[int, ...]
    """Thousandths of each device, 0 for those in use."""


Mix = Sequence[tuple[Target, Fraction]]


def target_mix(pods: Iterable[ExamPod]) -> Mix:
    """The most frequent requests that cover 95 % of the pods, with their parts, which add up to 1."""
    counts = Counter([Target(pod.cpu_milli, pod.gpu_milli, pod.gpus, pod.models) for pod in pods])
    order = sorted(counts, key=lambda target: (counts[target], target), reverse=True)
    taken, covered = list[Target](), 0
    while covered < COVERED * counts.total():
        taken.append(order[len(taken)])
        covered += counts[taken[-1]]
    return [(target, Fraction(counts[target], covered)) for target in taken]


def value(node: FreeNode, mix: Mix) -> Fraction:
    """V: thousandths of a GPU that the mix cannot use on the node, 9/10 for one pod and 1/10 for copies."""
    free = sum(node.devices)
    total = Fraction(0)
    for target, part in mix:
        for_one, for_copies = _usable(node, target)
        total += part * ((1 - COPIES) * (free - for_one) + COPIES * (free - for_copies))
    return total


def _usable(node: FreeNode, target: Target) -> tuple[int, int]:
    """What is usable for one pod, and for as many copies as fit."""
    if not target.gpus or (target.models and node.model not in target.models.split("|")):
        return 0, 0
    fitting = [device for device in node.devices if device >= target.gpu_milli]
    if len(fitting) < target.gpus or node.cpu_milli < target.cpu_milli:
        return 0, 0
    if target.gpu_milli < WHOLE_GPU:
        copies = sum(device // target.gpu_milli for device in node.devices) // target.gpus
    else:
        copies = len(fitting) // target.gpus
    if target.cpu_milli:
        copies = min(copies, node.cpu_milli // target.cpu_milli)
    return sum(fitting), copies * target.gpus * target.gpu_milli
