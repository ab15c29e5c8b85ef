"""Import of the openb trace: nodes and start times of running pods, and requests of pods."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tenure.cli.importers.openb import ImportedTrace, import_openb
from tenure.cli.importers.openb_csv import TraceError
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb

from tests.e2e.generated_trace import NODE_COLUMNS, POD_COLUMNS

EPOCH = datetime(2023, 1, 1, tzinfo=UTC)
GIB = 1 << 30

NODES = ("n1,8000,16384,2,T4", "n2,8000,16384,1,G2", "n3,4000,8192,0,CPU")
PODS = (
    "whole,1000,1024,2,1000,,LS,Running,10,,12",
    "share,1000,1024,1,460,G2,BE,Running,20,,",
    "large,1000,1024,8,1000,,BE,Running,30,,35",
    "wait,1000,1024,1,1000,T4|G2,Burstable,Pending,40,,",
    "late,1000,1024,0,0,,Guaranteed,Pending,50,,90",
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text("\n".join([",".join(NODE_COLUMNS), *NODES]))
    pods.write_text("\n".join([",".join(POD_COLUMNS), *PODS]))
    return nodes, pods


def imported(
    files: tuple[Path, Path], running: int = 3, pending: int = 2, now: datetime | None = None
) -> ImportedTrace:
    return import_openb(*files, running=running, pending=pending, engine=Engine(default_profile()), now=now)


@pytest.fixture
def trace(files: tuple[Path, Path]) -> ImportedTrace:
    return imported(files)


def pod(trace: ImportedTrace, name: str) -> pb.Pod:
    return next(pod for pod in trace.snapshot.pods if pod.uid == name)


def pod_group(trace: ImportedTrace, name: str) -> pb.PodGroup:
    return next(group for group in trace.snapshot.pod_groups if group.uid == name)


def shape(trace: ImportedTrace, name: str) -> pb.PodShape:
    return next(shape for shape in trace.snapshot.shapes if shape.id == pod(trace, name).shape)


def test_first_pods_are_running_and_the_next_pending(trace: ImportedTrace) -> None:
    running = {pod.name for pod in trace.snapshot.pods if pod.status == pb.POD_STATUS_RUNNING}
    assert running == {"whole", "share"}
    assert (trace.running, trace.unplaced, trace.pending) == (2, 1, 2)


def test_pod_that_fits_on_no_node_is_pending(trace: ImportedTrace) -> None:
    assert pod(trace, "large").status == pb.POD_STATUS_PENDING
    assert not pod_group(trace, "large").HasField("last_start_time")


def test_running_pods_are_on_fitting_nodes(trace: ImportedTrace) -> None:
    assert (pod(trace, "whole").node, list(pod(trace, "whole").gpu_groups)) == ("n1", [])
    assert pod(trace, "share").node == "n2"
    assert len(pod(trace, "share").gpu_groups) == 1


def test_second_zero_is_the_start_of_2023_and_now_is_the_last_creation(trace: ImportedTrace) -> None:
    assert trace.snapshot.now.seconds - int(EPOCH.timestamp()) == 50
    assert pod_group(trace, "share").creation_time.seconds - int(EPOCH.timestamp()) == 20


@pytest.mark.parametrize(("name", "started"), [("whole", 12), ("share", 20)])
def test_a_pod_group_started_when_its_pod_was_scheduled(
    trace: ImportedTrace, name: str, started: int
) -> None:
    assert pod_group(trace, name).last_start_time.seconds - int(EPOCH.timestamp()) == started


def test_start_times_are_at_most_now(files: tuple[Path, Path]) -> None:
    trace = imported(files, running=5, pending=0)
    assert pod_group(trace, "late").last_start_time == trace.snapshot.now


def test_now_can_be_set(files: tuple[Path, Path]) -> None:
    assert (
        imported(files, now=datetime(2024, 2, 29, tzinfo=UTC)).snapshot.now.ToJsonString()
        == "2024-02-29T00:00:00Z"
    )


def test_nodes_have_their_model_as_a_label_and_its_memory(trace: ImportedTrace) -> None:
    t4, g2, cpu = trace.snapshot.nodes
    assert dict(t4.labels) == {"kubernetes.io/hostname": "n1", "nvidia.com/gpu.product": "T4"}
    assert (t4.allocatable.cpu_milli, t4.allocatable.memory_bytes, t4.allocatable.gpu_milli) == (
        8000,
        16 * GIB,
        2000,
    )
    assert (t4.gpu_memory_mib, g2.gpu_memory_mib, cpu.gpu_memory_mib) == (16_300, 24_500, 0)


def test_requests_are_whole_gpus_or_a_share_of_one(trace: ImportedTrace) -> None:
    whole, share = shape(trace, "whole").gpu, shape(trace, "share").gpu
    assert (whole.devices, whole.HasField("portion_milli")) == (2, False)
    assert (share.devices, share.portion_milli) == (1, 460)
    assert not shape(trace, "late").HasField("gpu")


def test_gpu_models_become_a_required_affinity(trace: ImportedTrace) -> None:
    (term,) = shape(trace, "wait").node_affinity
    (requirement,) = term.requirements
    assert requirement.key == "nvidia.com/gpu.product"
    assert (requirement.operator, list(requirement.values)) == (pb.SELECTOR_OPERATOR_IN, ["G2", "T4"])
    assert not shape(trace, "whole").node_affinity


@pytest.mark.parametrize(
    ("name", "priority", "preemptibility"),
    [
        ("late", 125, pb.PREEMPTIBILITY_NON_PREEMPTIBLE),
        ("whole", 100, pb.PREEMPTIBILITY_NON_PREEMPTIBLE),
        ("wait", 75, pb.PREEMPTIBILITY_PREEMPTIBLE),
        ("share", 50, pb.PREEMPTIBILITY_PREEMPTIBLE),
    ],
)
def test_quality_of_service_determines_priority_and_preemptibility(
    trace: ImportedTrace, name: str, priority: int, preemptibility: pb.Preemptibility
) -> None:
    group = pod_group(trace, name)
    assert (group.priority, group.preemptibility) == (priority, preemptibility)


def test_equal_files_have_equal_snapshot_bytes(files: tuple[Path, Path]) -> None:
    first, second = (imported(files).snapshot.SerializeToString(deterministic=True) for _ in range(2))
    assert first == second


def test_progress_counts_the_pods_that_are_placed(files: tuple[Path, Path]) -> None:
    calls: list[tuple[int, int]] = []
    engine = Engine(default_profile())
    import_openb(*files, running=3, pending=0, engine=engine, progress=lambda *done: calls.append(done))
    assert calls == [(0, 3), (3, 3)]


@pytest.mark.parametrize(
    ("running", "pending", "message"),
    [(4, 2, "has 5 pods, but 6 are requested"), (0, 0, "no pods requested")],
)
def test_invalid_number_of_pods_is_rejected(
    files: tuple[Path, Path], running: int, pending: int, message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        imported(files, running, pending)
