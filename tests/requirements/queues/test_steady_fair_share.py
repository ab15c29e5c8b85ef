"""Reclaim by steady fair share: an argument of `proportion`, off by default (R4.74-R4.77)."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.checker.checker import verify
from tests.checker.rules.reclaims import ReclaimRights
from tests.requirements.answers import evicted, reserved
from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide, DecideFile

ON: Final = "plugins:\n  proportion: {steadyFairShareReclaim: true}\n"
EACH: Final = 8_000
"""Steady share of each of three equal queues of 24 GPUs, in thousandths."""


def thirds(nodes: int = 4, gpus: int = 6) -> ClusterText:
    """Queues a, b and c with equal weights and no quota; b is idle."""
    cluster = ClusterText()
    for node in range(nodes):
        cluster.node(f"n{node}", gpus=gpus)
    return cluster.queue("a", quota=0, weight=1).queue("b", quota=0, weight=1).queue("c", quota=0, weight=1)


def scattered(own: int = 5, wanted: int = 4) -> ClusterText:
    """One GPU is free on each of four nodes, which is no use to c: a has 15 GPUs, and c 5."""
    cluster = thirds()
    for number in range(3):
        cluster.runs(f"a{number}", "a", node=f"n{number}", gpus=4)
        cluster.runs(f"c{number}", "c", node=f"n{number}", gpus=1)
    cluster.runs("a3", "a", node="n3", gpus=3).runs("c3", "c", node="n3", gpus=own - 3)
    return cluster.waits("c4", "c", gpus=wanted)


def near() -> ClusterText:
    """After the reclaim, c would have as much of its steady share as a: 10 GPUs."""
    cluster = thirds()
    for number in range(3):
        cluster.runs(f"a{number}", "a", node=f"n{number}", gpus=4)
        cluster.runs(f"c{number}", "c", node=f"n{number}", gpus=1)
    cluster.runs("a3", "a", node="n3", gpus=2).runs("c3", "c", node="n3", gpus=3)
    return cluster.waits("c4", "c", gpus=4)


def within_steady_share() -> ClusterText:
    """a has its 8 GPUs; 10 are free, but at most 3 of them on one node."""
    cluster = thirds().runs("a0", "a", node="n0", gpus=4).runs("a1", "a", node="n1", gpus=4)
    return (
        cluster.runs("c0", "c", node="n2", gpus=3).runs("c1", "c", node="n3", gpus=3).waits("c4", "c", gpus=4)
    )


def large_batch() -> ClusterText:
    """a has 7 GPUs more than its steady share: the gang that started last has 8, and another job 4."""
    cluster = thirds(nodes=3, gpus=8).runs("gang", "a", node="n0", gpus=4, pods=2, minimum=2, ran="1m")
    cluster.runs("small", "a", node="n1", gpus=4, priority=60).runs("c0", "c", node="n1", gpus=2)
    cluster.runs("firm", "a", node="n2", gpus=3, mode="NON_PREEMPTIBLE").runs("c1", "c", node="n2", gpus=3)
    return cluster.waits("c4", "c", gpus=4)


def all_resources_are_taken() -> ClusterText:
    """Nothing is free, so the fair share is the steady one for those that want it."""
    cluster = thirds(nodes=3, gpus=8)
    for node in range(3):
        for half in range(2):
            cluster.runs(f"a{node}{half}", "a", node=f"n{node}", gpus=4)
    return cluster.waits("c4", "c", gpus=4)


CASES: Final[dict[str, tuple[Callable[[], ClusterText], list[str], list[str]]]] = {
    "free GPUs are scattered": (scattered, [], ["a3-0"]),
    "what it would have is as much as what is left": (near, [], []),
    "the victim's queue is not above its steady share": (within_steady_share, [], []),
    "nothing is free": (all_resources_are_taken, ["a21-0"], ["a21-0"]),
}
"""Cluster, evicted pods without the argument, and with it."""


@pytest.mark.parametrize(("cluster", "off", "on"), CASES.values(), ids=CASES)
def test_victims_r4_75(
    cluster: Callable[[], ClusterText], off: list[str], on: list[str], decide: Decide
) -> None:
    for configuration, victims in (("", off), (ON, on)):
        answer = decide(cluster(), configuration, "allocate", "reclaim")
        assert evicted(answer) == victims
        steady = {"a": EACH, "b": EACH, "c": EACH} if configuration else None
        assert verify(cluster().snapshot, answer, rights=ReclaimRights(steady=steady)) == []
        assert (reserved(answer) != []) is (victims != []), "the reclaimer waits for what is released"


def test_worked_example_from_a_file_r4_75(decide_file: DecideFile) -> None:
    answer = decide_file(scattered(), ON)
    assert (evicted(answer), reserved(answer)) == (["a3-0"], ["c4-0"])


def test_batch_that_is_too_large_is_skipped_r4_75(decide: Decide) -> None:
    """A smaller one is taken instead, although its priority is higher."""
    assert evicted(decide(large_batch(), ON, "allocate", "reclaim")) == ["small-0"]
