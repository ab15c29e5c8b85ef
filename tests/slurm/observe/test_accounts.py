"""Accounts and QOS of slurmdbd become queues, with their shares and with limits that queues have."""

import re
from pathlib import Path

import pytest
from google.protobuf import text_format
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.slurm.observe.accounts import Associations, Limit, read_associations
from tenure.slurm.observe.capacity_rows import QueueTree
from tenure.slurm.observe.cluster import Reading, Scope
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.rows import JobRow
from tenure.slurm.observe.source import SlurmSource
from tenure.slurm.programs import read_records
from tenure.v1.snapshot_pb2 import Queue

RECORDED = Path(__file__).parents[1] / "recorded"
SCOPE = Scope("test", ("gpu",))


@pytest.fixture(scope="module")
def known() -> Associations:
    return read_associations(read_records((RECORDED / "associations.txt").read_bytes()))


def gpus(quota: int = 0, limit: int = -1) -> dict[str, int]:
    return {"quota": quota, "limit": limit}


def test_accounts_are_a_tree_without_its_root(known: Associations) -> None:
    parents = {queue.name: queue.parent for queue in known.accounts}
    assert parents == {"lab": "", "research": "lab", "vision": "lab", "speech": "vision"}


def test_shares_and_limits_of_accounts(known: Associations) -> None:
    rows = {queue.name: queue for queue in known.accounts}
    assert [rows[name].gpu_milli.over_quota_weight for name in ("lab", "research", "vision")] == [100, 3, 1]
    assert [rows[name].gpu_milli.limit for name in ("lab", "research", "speech")] == [-1, 40_000, 16_000]
    assert rows["speech"].max_running == 3
    assert not rows["research"].HasField("max_running")


def test_limits_of_qos(known: Associations) -> None:
    assert {queue.name: queue.gpu_milli.limit for queue in known.qos} == {
        "normal": -1,
        "urgent": -1,
        "night": 16_000,
    }


def test_administrators(known: Associations) -> None:
    assert known.administrators == {0: "Administrator"}


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("Account=a UserName= GrpWall=60(0.00)", [Limit("GrpWall", "account", "a", False)]),
        (
            "Account=a UserName= GrpTRES=node=2(0),gres/gpu=N(0)",
            [Limit("GrpTRES=node", "account", "a", False)],
        ),
        (
            "Account=a UserName=me(5) GrpTRES=gres/gpu=4(0)",
            [Limit("GrpTRES=gres/gpu", "user", "me", True)],
        ),
        ("Account=a UserName=me(5) MaxJobs=3(0)", [Limit("MaxJobs", "user", "me", False)]),
        (
            "Account=a UserName= GrpTRES=gres/gpu:a100=4(0)",
            [Limit("GrpTRES=gres/gpu:a100", "account", "a", True)],
        ),
        ("QOS=night(3) MaxTRESPJ=gres/gpu=8", [Limit("MaxTRESPJ", "qos", "night", False)]),
        ("QOS=night(3) GrpTRES=cpu=N(0),gres/gpu=N(4) MaxTRESPJ= GrpWall=N(0.00)", []),
    ],
)
def test_limits_are_named(line: str, limits: list[Limit]) -> None:
    assert read_associations(read_records(line.encode())).limits == limits


@pytest.mark.parametrize(
    ("configured", "limit", "quota"),
    [
        ("", 4_000, None),
        ("node_class: 'a100' limit_gpu_milli: 2000", 2_000, None),
        ("node_class: 'a100' limit_gpu_milli: 6000 quota_gpu_milli: 1000", 4_000, 1_000),
        ("node_class: 'a100' limit_gpu_milli: -1", 4_000, None),
        ("node_class: 'a100' quota_gpu_milli: 1000", 4_000, 1_000),
    ],
)
def test_limit_for_gpus_of_a_type_is_one_of_their_class(
    configured: str, limit: int, quota: int | None
) -> None:
    """Of the limits of Slurm and of the file, the lower one counts (R19.1)."""
    line = b"Account=a UserName= GrpTRES=cpu=N(0),gres/gpu:a100=4(1)"
    row = Queue(name="a")
    if configured:
        text_format.Parse(f"class_limits {{ {configured} }}", row)
    [found] = QueueTree([row], read_associations(read_records(line)).accounts, SCOPE).rows.values()
    [of_class] = found.class_limits
    assert (of_class.node_class, of_class.limit_gpu_milli) == ("a100", limit)
    assert (of_class.quota_gpu_milli if of_class.HasField("quota_gpu_milli") else None) == quota


@pytest.mark.parametrize(
    ("queue_from", "warnings"),
    [
        ("account", ["night: GrpTRES=gres/gpu"]),
        ("qos", ["research: GrpTRES=gres/gpu", "speech: GrpJobs"]),
        ("partition", ["night: GrpTRES=gres/gpu", "research: GrpTRES=gres/gpu", "speech: GrpJobs"]),
    ],
)
def test_limits_that_only_slurm_enforces_are_logged(
    known: Associations, queue_from: str, warnings: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    scope = Scope("test", ("gpu",), queue_from=queue_from)
    source = SlurmSource(scope, (), lambda: Reading((), (), associations=known), JobMemories())
    source.snapshot(Timestamp(seconds=100))
    text = re.compile(r"\w+ (\w+) and others of its kind: have the limit (\S+), which no queue has")
    found = [text.match(message) for message in caplog.messages]
    assert sorted(f"{one[1]}: {one[2]}" for one in found if one) == warnings


@pytest.mark.parametrize(
    ("record", "limits"),
    [
        ("GrpTRES=cpu=4(1),mem=2048(0),gres/gpu=N(0)", (4_000, 2**31, -1)),
        ("GrpTRES=cpu=N(0),mem=N(0),gres/gpu=0(0)", (-1, -1, 0)),
        ("GrpTRES=", (-1, -1, -1)),
        ("GrpTRES=gres/gpu=many", (-1, -1, -1)),
    ],
)
def test_amounts(record: str, limits: tuple[int, int, int]) -> None:
    (row,) = read_associations(read_records(f"Account=a UserName= {record}".encode())).accounts
    assert (row.cpu_milli.limit, row.memory_bytes.limit, row.gpu_milli.limit) == limits


def test_shares_of_the_parent_weigh_as_one() -> None:
    line = b"Account=a UserName= SharesRaw/Norm/Level/Factor=2147483647/0.00/1/0.00"
    (row,) = read_associations(read_records(line)).accounts
    assert row.gpu_milli.over_quota_weight == 1


def test_file_gives_quotas_and_keeps_the_place_and_the_limits_of_an_account(known: Associations) -> None:
    configured = [
        Queue(name="research", gpu_milli=gpus(32_000, 48_000)),
        Queue(name="speech", gpu_milli=gpus(8_000), max_running=9),
        Queue(name="guests", parent="lab", gpu_milli=gpus(4_000)),
    ]
    rows = QueueTree(configured, known.accounts, SCOPE).rows
    assert (rows["research"].parent, rows["research"].gpu_milli.limit) == ("lab", 40_000)
    assert rows["research"].gpu_milli.over_quota_weight == 3
    assert (rows["speech"].max_running, rows["speech"].gpu_milli.limit) == (3, 16_000)
    quotas = {name: row.gpu_milli.quota for name, row in rows.items()}
    assert quotas == {"lab": 44_000, "research": 32_000, "vision": 8_000, "speech": 8_000, "guests": 4_000}


def test_parent_of_the_other_queues_is_above_the_tree(known: Associations) -> None:
    scope = Scope("test", ("gpu",), parent_queue="slurm")
    rows = QueueTree([Queue(name="slurm")], known.accounts, scope).rows
    assert (rows["lab"].parent, rows["research"].parent) == ("slurm", "lab")


def test_jobs_of_an_account_with_children_have_a_leaf(known: Associations) -> None:
    jobs = [JobRow(7, "PENDING", 5, account="vision", partition="gpu", memory_per_cpu=1)]
    readings = [
        Reading(jobs, (), associations=known),
        Reading(jobs, ()),
        Reading(jobs, (), associations=known),
    ]
    source = SlurmSource(SCOPE, (), lambda: readings.pop(0), JobMemories())
    snapshot = source.snapshot(Timestamp(seconds=100))
    assert [group.queue for group in snapshot.pod_groups] == ["vision/direct"]
    assert {queue.name: queue.parent for queue in snapshot.queues}["vision/direct"] == "vision"
    for queue in ("vision", "vision/direct"):
        delta = source.delta(Timestamp(seconds=101))
        assert [group.queue for group in delta.upserts.pod_groups] == [queue]
