"""Which jobs a cluster can run at all, in which pods, and the true reason why it never runs others."""

import pytest
from tenure.simulator.cluster import build_nodes, parse_nodes
from tenure.simulator.fitting import fit_jobs
from tenure.simulator.jobs import Job, Trace
from tenure.v1.snapshot_pb2 import Node

from tests.simulator.played import job

GIB = 1 << 30


def nodes(text: str, cpu: int = 0, memory: int = 0) -> list[Node]:
    found = build_nodes(parse_nodes(text))
    for node in found:
        node.allocatable.cpu_milli = cpu * 1000 or node.allocatable.cpu_milli
        node.allocatable.memory_bytes = memory * GIB or node.allocatable.memory_bytes
    return found


def fitted(one: Job, cluster: list[Node]) -> tuple[int, int]:
    (found,) = fit_jobs(Trace([one]), cluster).jobs
    return found.pods, found.gpu_milli // 1000


def refused(one: Job, cluster: list[Node]) -> str:
    trace = fit_jobs(Trace([one]), cluster)
    assert not trace.jobs
    return trace.bad_lines[0].problem


@pytest.mark.parametrize(
    ("gpus", "text", "pods"),
    [
        (8, "2x8", (1, 8)),
        (12, "2x8", (2, 6)),
        (20, "3x8", (5, 4)),  # four pods of 5 would need four nodes
        (12, "1x8,2x4", (3, 4)),  # two pods of 6 would need two nodes of 8
        (6, "3x2", (3, 2)),
    ],
)
def test_a_job_has_the_fewest_equal_pods_that_the_cluster_can_hold(gpus, text, pods):
    assert fitted(job("a", 0, 60, gpus), nodes(text)) == pods


def test_cpu_and_memory_of_a_job_are_divided_too_and_rounded_up():
    (found,) = fit_jobs(
        Trace([job("a", 0, 60, 4, cpu_milli=33_001, memory_bytes=GIB)]), nodes("4x8", cpu=20)
    ).jobs
    assert (found.pods, found.cpu_milli, found.memory_bytes) == (2, 16_501, GIB // 2)


@pytest.mark.parametrize(
    ("one", "cluster", "problem"),
    [
        (
            job("a", 0, 60, 12, pods=1),
            nodes("64x8"),
            "job a has pods=1: its pod needs 12 GPUs, and no node has more than 8; leave pods empty "
            "to have it divided",
        ),
        (
            job("a", 0, 60, 12, pods=2),
            nodes("64x8"),
            "job a has pods=2: its pods need 12 GPUs each, and no node has more than 8; leave pods empty "
            "to have it divided",
        ),
        (
            job("a", 0, 60, 5, pods=3),
            nodes("2x8"),
            "job a needs 3 pods of 5 GPUs at the same time, and the cluster has places for 2",
        ),
        (job("a", 0, 60, 17), nodes("2x8"), "job a needs 17 GPUs, more than the cluster offers: 16"),
        (
            job("a", 0, 60, 8, pods=1, cpu_milli=64_000),
            nodes("2x8", cpu=32),
            "job a has pods=1: its pod needs 64 CPU cores, and no node has more than 32",
        ),
        (
            job("a", 0, 60, 1, memory_bytes=64 * GIB),
            nodes("2x8", memory=32),
            "job a needs 64 GiB of memory, and no node has more than 32",
        ),
        (
            job("a", 0, 60, 1, gpu_kinds=("A100",)),
            nodes("2x8:V100,1x4:T4"),
            "job a needs GPUs of kind A100, and the nodes have T4, V100",
        ),
        (
            job("a", 0, 60, 8, gpu_kinds=("T4",)),
            nodes("2x8:V100,1x4:T4"),
            "job a needs 8 GPUs of kind T4, more than the cluster offers: 4",
        ),
        (
            job("a", 0, 60, 8, pods=1, cpu_milli=64_000),
            [*nodes("1x8", cpu=32), *nodes("1x4", cpu=64)],
            "job a has pods=1: its pod needs 8 GPUs and 64 CPU cores, and no node has all of it",
        ),
    ],
)
def test_a_job_that_never_fits_is_refused_with_the_true_reason(one, cluster, problem):
    assert refused(one, cluster) == problem


def test_jobs_alike_are_divided_once_and_keep_what_is_their_own():
    jobs = [job("a", 0, 60, 16), job("b", 5, 90, 16, queue="b", priority=75)]
    found = fit_jobs(Trace(jobs), nodes("2x8")).jobs
    assert [(each.name, each.submit, each.queue, each.priority, each.pods) for each in found] == [
        (each.name, each.submit, each.queue, each.priority, 2) for each in jobs
    ]
