"""Whatever a stranger writes into a job, the server accepts the snapshot: one job stops no other one."""

import logging

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.decode import decode_snapshot
from tenure.slurm.comments import CommentWriter
from tenure.slurm.observe.cluster import Reading, Scope
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.rows import JobRow, read_jobs
from tenure.slurm.observe.source import SlurmSource
from tenure.slurm.programs import Slurm
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import SetAsideRows

SCOPE = Scope("test", ("gpu",), expected_runtime_percent=100)
NOW = 1_800_000_000
PLAIN = {"node_count": 1, "max_nodes": 1, "memory_per_cpu": 100, "partition": "gpu", "submit_time": NOW - 9}
COMMENTS = (
    *("expected-runtime=abc", "expected-runtime=-1h", "min-runtime=1e400h", "requeue-delay=99999999999h"),
    *(f"expected-runtime={'9' * 5_000}h", f"preemptibility={'x' * 20_000}", "preemptibility=bogus"),
    *(
        "eviction-cost=1073741825",
        "eviction-cost=\u0663",
        "notice=-5s",
        "notice=99999999h",
        "restart-cost=1ns",
    ),
    *("checkpoint-interval=0s", "last-checkpoint-time=9999-12-31T23:59:59Z", "released=0001-01-01T00:00:00Z"),
    *("hold=maybe", "on-evict=burn", "min-runtime=\u202e5m", "=", "a=b" * 9_000, "\x00\x1b[1m"),
)
FIELDS: tuple[dict[str, object], ...] = (
    *({"comment": f"tenure: {text}"} for text in COMMENTS),
    *(
        {"account": text}
        for text in ("a\nb|c", "x" * 1_000, "root", "default", "/direct", " ", "\u202e", "..")
    ),
    *({"user_name": text} for text in (None, "x" * 500, "\u202e")),
    *({"name": text} for text in (None, "", "x" * 100_000)),
    *({"time_limit": minutes} for minutes in (0, 143_998_560, 2**31)),
    *({name: 2**62} for name in ("memory_per_node", "memory_per_cpu")),
    {"tres_req_str": f"cpu={10**20}"},
    *({"tres_per_node": f"gres:gpu:{what}"} for what in (10**20, 0, "t" * 300 + ":1")),
    {"node_count": 100_000, "max_nodes": 100_000},
    *({"features": text} for text in ("a" * 300, "\u00fc", "|", "&", "a&&b")),
    *({"required_nodes": text} for text in ("n[1-100000]", "n[" + "1-99999," * 99 + "1]", "]")),
    {"excluded_nodes": "n[1-99999]"},
    {"partition": "gpu,"},
    {"dependency": "afterok:" + "9" * 5_000},
)


def observe(jobs: list[JobRow]) -> ClusterSnapshot:
    return SlurmSource(SCOPE, (), lambda: Reading(jobs, ()), JobMemories()).snapshot(Timestamp(seconds=NOW))


@pytest.mark.parametrize("fields", FIELDS, ids=lambda fields: f"{str(fields)[:40]!a}")
def test_server_accepts_a_snapshot_with_the_job(fields: dict[str, object]) -> None:
    snapshot = observe([JobRow(7, "PENDING", 5, **{**PLAIN, **fields}), JobRow(8, "PENDING", 5, **PLAIN)])
    assert [row.name for row in snapshot.pod_groups] == ["7", "8"]
    decode_snapshot(snapshot)


def test_user_whom_this_host_does_not_know_has_no_name() -> None:
    row = b'{"job_id": 7, "job_state": "PENDING", "user_id": 54321, "partition": "gpu", "user_name": null}'
    (group,) = observe(read_jobs(b'{"jobs": [' + row + b"]}")).pod_groups
    assert group.namespace == "54321"


def test_row_that_the_server_does_not_accept_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    source = SlurmSource(SCOPE, (), lambda: Reading((), ()), JobMemories())
    comments, rows = CommentWriter(Slurm(), source), SetAsideRows(total=2)
    row = rows.rows.add(field="pod_groups[3]", key="7@100")
    row.violations.add(field="pod_groups[3].queue", description="is too long")
    row.violations.add(field="pod_groups[3].uid", description="too")
    rows.rows.add(field="pods[5]", key="7@100#0/0", dependent=True)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            comments.set_aside(rows)
    assert caplog.messages == ["pod_groups 7@100 is not scheduled: queue is too long"]
