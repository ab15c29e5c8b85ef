"""Recorded listings of Slurm 22.05, and the shapes of later versions, become rows of a snapshot."""

from pathlib import Path

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from msgspec.structs import replace
from tenure.slurm.observe.cluster import Reading, Run, Scope, foreign_partitions, read_tasks
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.reservations import read_reservations
from tenure.slurm.observe.rows import JobRow, ListingError, Number, read_jobs, read_nodes
from tenure.slurm.observe.source import SlurmSource
from tenure.slurm.programs import read_records
from tenure.v1 import snapshot_pb2 as pb

RECORDED = Path(__file__).parents[1] / "recorded"
SCOPE = Scope("test", ("gpu", "high", "low"), priorities={"high": 90})
LATER = b"""{"jobs": [{"job_id": 7, "job_state": ["RUNNING", "COMPLETING"], "user_id": 5, "partition": "gpu",
  "priority": {"set": true, "infinite": false, "number": 0}, "time_limit": {"set": true, "infinite": true,
  "number": 0}, "node_count": {"set": true, "infinite": false, "number": 2}, "shared": ["none"]}]}"""


@pytest.fixture(scope="module")
def reading() -> Reading:
    jobs = read_jobs((RECORDED / "squeue.json").read_bytes())
    return Reading(jobs, read_nodes((RECORDED / "sinfo.json").read_bytes()))


@pytest.fixture
def source(reading: Reading) -> SlurmSource:
    return SlurmSource(SCOPE, (), lambda: reading, JobMemories())


@pytest.fixture
def snapshot(source: SlurmSource, reading: Reading) -> pb.ClusterSnapshot:
    return source.snapshot(observed_at(reading))


def observed_at(reading: Reading, later: int = 10) -> Timestamp:
    """A time soon after the last submission."""
    return Timestamp(seconds=max(int(job.submit_time) for job in reading.jobs) + later)


def group(snapshot: pb.ClusterSnapshot, key: str) -> pb.PodGroup:
    return next(row for row in snapshot.pod_groups if row.uid.startswith(f"{key}@"))


def pods(snapshot: pb.ClusterSnapshot, key: str) -> list[pb.Pod]:
    return [pod for pod in snapshot.pods if pod.pod_group.startswith(f"{key}@")]


def shape(snapshot: pb.ClusterSnapshot, pod: pb.Pod) -> pb.PodShape:
    return next(row for row in snapshot.shapes if row.id == pod.shape)


def test_job_without_utf_8_is_read(reading: Reading) -> None:
    names = [job.name for job in reading.jobs if "\ufffd" in job.name]
    assert names == ["caf\ufffd|\n\x1b[1m"]


def test_names_have_no_control_characters(snapshot: pb.ClusterSnapshot) -> None:
    assert group(snapshot, "6").name == "6"
    assert group(snapshot, "6").annotations["slurm.tenure.scheduler/job-name"] == "caf\ufffd|??[1m"


def test_nodes_have_gpus_and_labels(snapshot: pb.ClusterSnapshot) -> None:
    node = snapshot.nodes[0]
    assert (node.name, node.allocatable.gpu_milli, node.allocatable.cpu_milli) == ("n1", 8_000, 64_000)
    assert node.labels["slurm.tenure.scheduler/gpu-type"] == "a100"
    assert node.node_class == "a100"
    assert node.labels["feature.slurm.tenure.scheduler/ib"] == "true"
    assert [row.name for row in snapshot.nodes if row.unschedulable] == ["n8"]
    assert not any(row.unready_conditions for row in snapshot.nodes)


def test_running_gang_is_a_pod_per_node(snapshot: pb.ClusterSnapshot) -> None:
    gang = group(snapshot, "1")
    assert (gang.queue, gang.min_member, gang.last_start_time.seconds > 0) == ("research", 2, True)
    assert [pod.node for pod in pods(snapshot, "1")] == ["n3", "n5"]
    assert {pod.status for pod in pods(snapshot, "1")} == {pb.POD_STATUS_RUNNING}
    assert shape(snapshot, pods(snapshot, "1")[0]).gpu.devices == 2


def test_options_of_the_comment_are_annotations(snapshot: pb.ClusterSnapshot) -> None:
    assert dict(group(snapshot, "1").annotations) == {
        "kai.scheduler/expected-runtime": "2h",
        "kai.scheduler/preemptibility": "non-preemptible",
        "slurm.tenure.scheduler/job-name": "sbatch",
    }


def test_array_is_a_pod_group_per_task_and_the_throttle_gates(snapshot: pb.ClusterSnapshot) -> None:
    status = {
        row.uid.split("@")[0]: pods(snapshot, row.uid.split("@")[0])[0].status for row in snapshot.pod_groups
    }
    tasks = {name: status[name] for name in status if name.startswith("2_")}
    running, pending, gated = pb.POD_STATUS_RUNNING, pb.POD_STATUS_PENDING, pb.POD_STATUS_GATED
    assert tasks == {"2_0": running, "2_1": pending, "2_2": gated, "2_3": gated, "2_4": gated, "2_5": gated}


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [(90, 5_400), (None, None), (0, None), (2**40, 100 * 365 * 86_400)],
)
def test_time_limit_of_a_job_is_its_hard_end(limit: int | None, seconds: int | None) -> None:
    """R19.20. An unlimited job has none; one of more than a hundred years has that."""
    job = JobRow(7, "PENDING", 5, partition="gpu", node_count=1, submit_time=50, time_limit=limit)
    source = SlurmSource(SCOPE, (), lambda: Reading((job,), ()), JobMemories())
    [row] = source.snapshot(Timestamp(seconds=100)).pod_groups
    assert (row.time_limit.seconds if row.HasField("time_limit") else None) == seconds


@pytest.mark.parametrize(("key", "held_by"), [("4", pb.HOLD_REASON_DEPENDENCY), ("5", 0)])
def test_dependency_and_begin_time_gate(
    snapshot: pb.ClusterSnapshot, key: str, held_by: "pb.HoldReason"
) -> None:
    assert [pod.status for pod in pods(snapshot, key)] == [pb.POD_STATUS_GATED]
    assert group(snapshot, key).held_by == held_by


def test_begin_time_is_when_the_cluster_is_read_again(source: SlurmSource, reading: Reading) -> None:
    source.snapshot(observed_at(reading))
    begin = next(int(job.eligible_time) for job in reading.jobs if job.job_id == 5)
    assert source.recheck_seconds == begin
    source.delta(Timestamp(seconds=begin))
    assert [row.rows.pods[0].status for row in source.jobs.values() if row.run.key == "5"] == [1]


@pytest.mark.parametrize(
    ("key", "gpus", "cpus", "mib"),
    [
        ("7", 1, 12, 1_200),  # -n12 without -N: one node
        ("8", 2, 1, 100),  # --gpus=2
        ("9", 4, 4, 1_000),  # --gpus-per-node=4 -N2 -c4 --mem=1000
        ("10", 4, 4, 400),  # --gpus-per-task=1 -n4 -N1
    ],
)
def test_requests_are_those_of_one_node(
    snapshot: pb.ClusterSnapshot, key: str, gpus: int, cpus: int, mib: int
) -> None:
    needs = shape(snapshot, pods(snapshot, key)[0])
    found = needs.gpu.devices, needs.requests.cpu_milli // 1_000, needs.requests.memory_bytes // 2**20
    assert found == (gpus, cpus, mib)


def test_job_that_cannot_be_requeued_is_not_preemptible(snapshot: pb.ClusterSnapshot) -> None:
    assert group(snapshot, "9").preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    assert group(snapshot, "8").preemptibility == pb.PREEMPTIBILITY_PREEMPTIBLE


def test_named_nodes_pin_the_first_pods_and_features_select(snapshot: pb.ClusterSnapshot) -> None:
    shapes = [shape(snapshot, pod) for pod in pods(snapshot, "11")]
    label = "slurm.tenure.scheduler/node"
    assert [row.node_selector.get(label, "") for row in shapes] == ["n1", "n2", ""]
    terms = {
        requirement.key: list(requirement.values) for requirement in shapes[2].node_affinity[0].requirements
    }
    assert terms.keys() >= {"feature.slurm.tenure.scheduler/a100", "feature.slurm.tenure.scheduler/ib"}
    assert terms[label] == ["n3"]
    assert shapes[0].pod_anti_affinity[0].topology_key == label


def test_job_with_a_range_of_nodes_has_the_fewest(snapshot: pb.ClusterSnapshot) -> None:
    assert [pod.blocked_reason for pod in pods(snapshot, "12")] == ["", ""]


def test_requeued_job_has_new_pods_and_waits_for_no_pause(snapshot: pb.ClusterSnapshot) -> None:
    (pod,) = pods(snapshot, "13")
    assert pod.uid.endswith("#1/0")
    assert pod.status == pb.POD_STATUS_PENDING


def test_ended_jobs_are_left_out(snapshot: pb.ClusterSnapshot) -> None:
    assert not pods(snapshot, "14")


def test_later_versions_have_numbers_in_objects_and_states_in_lists() -> None:
    (job,) = read_jobs(LATER)
    assert (job.state, job.is_held, job.is_exclusive) == ("COMPLETING", True, True)


@pytest.mark.parametrize("listing", [b"", b"{}", b'{"jobs": [{"job_id": "x"}]}'])
def test_other_output_is_an_error(listing: bytes) -> None:
    with pytest.raises(ListingError, match="cannot read the output of squeue --json"):
        read_jobs(listing)


def test_hostile_names_harm_no_other_job() -> None:
    """Names are bytes of strangers: not UTF-8, of any length, with control characters and separators."""
    names = [
        b"caf\xe9",
        b"\xff\xfe\x80" * 9,
        b"\\u0000\\u001b[1m\\n\\r\\t|",
        b"\xed\xa0\x80\\\\ud800",
        b"\\u202e\\u2066",
        b"x" * 1_000_000,
        b"",
    ]
    rows = [
        b'{"job_id": %d, "job_state": "PENDING", "user_id": 5, "partition": "gpu", "node_count": 1,'
        b' "submit_time": 100, "memory_per_cpu": 1, "name": "%s", "comment": "%s", "user_name": "%s"}'
        % (number, name, name, name)
        for number, name in enumerate(names, 1)
    ]
    jobs = read_jobs(b'{"jobs": [' + b",".join(rows) + b"]}")
    snapshot = SlurmSource(SCOPE, (), lambda: Reading(jobs, ()), JobMemories()).snapshot(
        Timestamp(seconds=200)
    )
    assert [row.name for row in snapshot.pod_groups] == ["1", "2", "3", "4", "5", "6", "7"]
    texts = [text for row in snapshot.pod_groups for text in (row.namespace, *row.annotations.values())]
    assert all(text.isprintable() and len(text) <= 253 for text in texts)
    assert len({pod.status for pod in snapshot.pods}) == 1


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        (b'[{"description": "Failed while looking for jobs", "error_number": -1}]', "looking for jobs"),
        (b'[{"error": "Unspecified error", "errno": -1}]', "Unspecified error"),
        (b"[{}]", "without a text"),
    ],
)
def test_empty_listing_with_errors_is_no_empty_cluster(errors: bytes, text: str) -> None:
    for read, rows in ((read_jobs, b"jobs"), (read_nodes, b"nodes")):
        with pytest.raises(ListingError, match=text):
            read(b'{"errors": ' + errors + b', "' + rows + b'": []}')
    assert read_jobs(b'{"errors": [], "jobs": []}') == []


def test_unchanged_listing_is_an_empty_delta(source: SlurmSource, reading: Reading) -> None:
    source.snapshot(observed_at(reading))
    delta = source.delta(observed_at(reading, 11))
    assert not delta.upserts.ByteSize()
    assert not delta.removals.ByteSize()


@pytest.mark.parametrize(
    ("text", "tasks"), [("0-3%2", [0, 1, 2, 3]), ("1,5-6", [1, 5, 6]), ("0-9:4", [0, 4, 8]), ("...", [])]
)
def test_tasks_of_pending_arrays(text: str, tasks: list[int]) -> None:
    assert read_tasks(text) == tasks


def test_large_array_offers_the_first_tasks() -> None:
    assert read_tasks("0-999999999") == list(range(200))


def test_reservations_close_their_nodes(reading: Reading) -> None:
    line = b"ReservationName=x StartTime=1 Nodes=n[1-2] NodeCnt=2 State=ACTIVE\n"
    closed = reading._replace(reservations=read_reservations(read_records(line)))
    snapshot = SlurmSource(SCOPE, (), lambda: closed, JobMemories()).snapshot(observed_at(reading))
    assert [(row.name, row.taints[0].value) for row in snapshot.nodes if row.taints] == [
        ("n1", "x"),
        ("n2", "x"),
    ]


@pytest.mark.parametrize(
    ("used", "gpus"),
    [
        ("gpu:a100:2(IDX:0-1)", 8_000),  # the gang has two on n3
        ("gpu:a100:8(IDX:0-7)", 2_000),
        ("gpu:a100:3(IDX:0,4-5),gpu:v100:1(IDX:6),license:4", 6_000),
        ("gpu:a100:0", 8_000),
        ("", 8_000),
    ],
)
def test_gpus_that_slurm_counts_as_used_and_no_job_has_are_left_out(
    reading: Reading, used: str, gpus: int, caplog: pytest.LogCaptureFixture
) -> None:
    nodes = [replace(node, gres_used=used) if node.name == "n3" else node for node in reading.nodes]
    source = SlurmSource(SCOPE, (), lambda: reading._replace(nodes=nodes), JobMemories())
    rows = [source.snapshot(observed_at(reading, later)) for later in (10, 19, 20, 21)]
    found = [row.allocatable.gpu_milli for one in rows for row in one.nodes if row.name == "n3"]
    assert found == [8_000, 8_000, gpus, gpus]
    warnings = [text for text in caplog.messages if text.startswith("node n3:")]
    assert len(warnings) == (gpus < 8_000)


@pytest.mark.parametrize(("time", "is_ready"), [(0, False), (None, True), (Number(0, set=False), True)])
def test_node_that_has_not_reported_since_a_restart_is_not_ready(
    reading: Reading, time: int | Number | None, is_ready: bool
) -> None:
    nodes = [replace(node, slurmd_start_time=time) for node in reading.nodes]
    source = SlurmSource(SCOPE, (), lambda: reading._replace(nodes=nodes), JobMemories())
    conditions = {tuple(row.unready_conditions) for row in source.snapshot(observed_at(reading)).nodes}
    assert conditions == {() if is_ready else ("NOT_REPORTED",)}


def test_foreign_partitions_are_named(reading: Reading) -> None:
    node = reading.nodes[0]
    assert foreign_partitions([replace(node, partitions=["gpu", "x"])], SCOPE) == {"x": ["n1"]}


def test_a_run_has_the_nodes_of_its_list() -> None:
    assert Run("7", "7", JobRow(7, "RUNNING", 5, nodes="n[1,3]")).nodes == ["n1", "n3"]
