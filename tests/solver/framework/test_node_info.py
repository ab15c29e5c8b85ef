"""Free amounts of a node and of its shared devices. Devices have 100 MiB."""

from collections.abc import Sequence

import pytest
from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.node_info import NodeInfo, SharedGpu
from tenure.solver.model.placement import ALLOCATED, PIPELINED, RELEASING, TaskStatus
from tenure.solver.model.resources import CPU, GPU, PODS
from tenure.solver.testing import ClusterBuilder

Use = tuple[int, int]
"""How a task uses a device, and its memory usage."""


def device(*uses: Use) -> SharedGpu:
    gpu = SharedGpu()
    for use, memory in uses:
        gpu.charge(use, memory)
    return gpu


def node_info(gpus: int, **groups: Sequence[Use]) -> NodeInfo:
    """Accounting of a node with these shared devices."""
    node = ClusterBuilder().node("n", gpus=gpus).build().nodes[0]
    found = NodeInfo.of(node)
    for group, uses in groups.items():
        for use, memory in uses:
            found.charge_gpu(group, use, memory)
    return found


STATUSES = {
    TaskStatus.RUNNING: (2000, 0),
    TaskStatus.BOUND: (2000, 0),
    TaskStatus.BINDING: (2000, 0),
    TaskStatus.STUCK_IN_RELEASING: (2000, 0),
    TaskStatus.RELEASING: (2000, 2000),
    TaskStatus.PIPELINED: (4000, -2000),
    TaskStatus.SUCCEEDED: (4000, 0),
    TaskStatus.FAILED: (4000, 0),
    TaskStatus.PENDING: (4000, 0),
}


@pytest.mark.parametrize(("status", "expected"), STATUSES.items(), ids=[s.name for s in STATUSES])
def test_status_determines_idle_and_releasing_r1_19(status: TaskStatus, expected: tuple[int, int]) -> None:
    """Two of four GPUs are in use. A reservation on idle capacity makes the releasing amount negative."""
    node = "" if status is TaskStatus.PENDING else "n"
    builder = ClusterBuilder().node("n", gpus=4).queue("q").pods("job", status, node=node, queue="q", gpus=2)
    ledger = Ledger(builder.build())
    assert (ledger.node_infos[0].idle[GPU], ledger.node_infos[0].releasing[GPU]) == expected


def test_pod_uses_one_pod_slot_and_resources_not_offered_are_not_charged_r1_4_r1_22() -> None:
    builder = (
        ClusterBuilder().node("n", cpus=2, pods=5).queue("q").running("job", queue="q", node="n", gpus=1)
    )
    free = Ledger(builder.build()).node_infos[0].idle
    assert (free[CPU], free[GPU], free[PODS]) == (1000, 0, 4)


DEVICES = {
    "R1.24 room beside what is used": ([(ALLOCATED, 60)], 40, True),
    "R1.24 not more than that": ([(ALLOCATED, 60)], 41, False),
    "R1.24 terminating tasks make room": ([(ALLOCATED, 60), (RELEASING, 40)], 40, True),
    "R1.24 a device that is released altogether is a whole one": ([(RELEASING, 40)], 10, False),
    "R1.24 a promise takes room": ([(RELEASING, 60), (PIPELINED, 60)], 41, False),
    "R1.24 a device that is only promised has room": ([(PIPELINED, 60)], 40, True),
    "R1.24 an unused device is no shared one": ([], 10, False),
}


@pytest.mark.parametrize(("uses", "memory", "expected"), DEVICES.values(), ids=DEVICES)
def test_a_share_fits_on_a_device(uses: list[Use], memory: int, expected: bool) -> None:
    assert device(*uses).fits(memory, 100) is expected


@pytest.mark.parametrize(
    ("uses", "memory", "expected"),
    [
        ([(ALLOCATED, 60)], 40, True),
        ([(ALLOCATED, 60), (RELEASING, 40)], 40, False),
        ([(PIPELINED, 60)], 10, False),
    ],
    ids=["idle", "terminating tasks are still there", "a device that is only promised"],
)
def test_share_fits_on_a_device_immediately_r1_25(uses: list[Use], memory: int, expected: bool) -> None:
    assert device(*uses).fits_now(memory, 100) is expected


WHOLE = {
    "the first task takes a whole GPU": ([(ALLOCATED, 50)], (3000, 0)),
    "the second takes no other": ([(ALLOCATED, 50), (ALLOCATED, 50)], (3000, 0)),
    "one of two terminating: still in use": ([(ALLOCATED, 50), (RELEASING, 50)], (3000, 0)),
    "all terminating: the whole GPU is released": ([(RELEASING, 50), (RELEASING, 50)], (3000, 1000)),
    "promised to somebody: not released": ([(RELEASING, 50), (PIPELINED, 50)], (3000, 0)),
    "only promised: taken from what will be free": ([(PIPELINED, 50)], (4000, -1000)),
}


@pytest.mark.parametrize(("uses", "expected"), WHOLE.values(), ids=WHOLE)
def test_a_shared_device_counts_as_one_whole_gpu_r1_23(uses: list[Use], expected: tuple[int, int]) -> None:
    found = node_info(4, g=uses)
    assert (found.idle[GPU], found.releasing[GPU]) == expected


@pytest.mark.parametrize("uses", [row[0] for row in WHOLE.values()], ids=WHOLE)
def test_removing_all_uses_restores_the_node_r1_19(uses: list[Use]) -> None:
    found = node_info(4, g=uses)
    for use, memory in reversed(uses):
        found.charge_gpu("g", use, -memory)
    assert (found.idle[GPU], found.releasing[GPU], found.gpus) == (4000, 0, {})


SUMS = {
    "R1.27 whole ones": ({}, (2000, 0)),
    "R1.27 the free part of a device": ({"g": [(ALLOCATED, 30)]}, (1700, 0)),
    "R1.27 the releasing part of a device": ({"g": [(ALLOCATED, 30), (RELEASING, 20)]}, (1500, 200)),
    "R1.27 a device that is released altogether counts once": ({"g": [(RELEASING, 30)]}, (1700, 1000)),
}


@pytest.mark.parametrize(("groups", "expected"), SUMS.values(), ids=SUMS)
def test_idle_and_releasing_gpus_are_summed(groups: dict[str, list[Use]], expected: tuple[int, int]) -> None:
    found = node_info(2, **groups)
    assert (found.idle_gpu_milli(), found.releasing_gpu_milli()) == expected


def test_portions_of_a_device_are_rounded_up_to_a_hundredth_r1_27() -> None:
    node = ClusterBuilder().node("n", gpus=1, gpu_memory_mib=300).build().nodes[0]
    found = NodeInfo.of(node)
    found.charge_gpu("g", ALLOCATED, 100)
    assert found.idle_gpu_milli() == 660


FITS = {
    "R1.21 idle room": ({"gpus": 2}, 0, (True, True)),
    "R1.21 room that is being released": ({"gpus": 3}, 2, (False, True)),
    "R1.21 too much": ({"gpus": 5}, 2, (False, False)),
    "R1.26 a share opens a device": ({"gpus": 0.5}, 0, (True, True)),
    "R1.26 shares of several devices": ({"gpus": 0.5, "devices": 2}, 0, (True, True)),
    "R1.26 more devices than there are": ({"gpus": 0.5, "devices": 3}, 0, (False, False)),
    "R1.26 more devices than there are now": ({"gpus": 0.5, "devices": 3}, 2, (False, True)),
    "R1.3 every resource must fit": ({"gpus": 1, "cpus": 65}, 0, (False, False)),
}


@pytest.mark.parametrize(("pod", "leaving", "expected"), FITS.values(), ids=FITS)
def test_shapes_fit_on_idle_and_on_releasing_capacity(
    pod: dict[str, float], leaving: int, expected: tuple[bool, bool]
) -> None:
    """A node of four GPUs: two are free, and `leaving` of the others are being released."""
    builder = ClusterBuilder().node("n", gpus=4).queue("q").pending("job", queue="q", **pod)
    for number in range(2):
        status = TaskStatus.RELEASING if number < leaving else TaskStatus.RUNNING
        builder.pods(f"other{number}", status, node="n", queue="q", gpus=1)
    cluster = builder.build()
    ledger, shape = Ledger(cluster), cluster.tasks[0].shape
    assert (ledger.fits_idle(shape, 0), ledger.fits_soon(shape, 0)) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({"gpus": 2}, 2000),
        ({"gpus": 0.5}, 500),
        ({"gpus": 0.5, "devices": 3}, 1500),
        ({"gpu_memory_mib": 1001}, 260),
        ({"gpu_memory_mib": 1000, "devices": 2}, 500),
    ],
    ids=["whole", "share", "shares of three", "memory, rounded up to a hundredth", "memory of two"],
)
def test_share_of_a_pod_in_its_queue_depends_on_the_node_r1_17(pod: dict[str, float], expected: int) -> None:
    builder = (
        ClusterBuilder().node("n", gpus=4, gpu_memory_mib=4000).queue("q").pending("job", queue="q", **pod)
    )
    cluster = builder.build()
    assert Ledger(cluster).share(cluster.tasks[0], 0)[2] == expected
