"""Limits of users, accounts and QOS: which waiting jobs exceed them, and which might."""

from typing import Final

import pytest
from tenure.slurm.observe.limits import Bounds, judge, read_bounds
from tenure.slurm.observe.rows import JobRow

_NONE: Final = "cpu=N(0),gres/gpu=N(0)"
LISTING: Final = f"""\
ClusterName=test Account=root UserName= Partition= ParentAccount= GrpJobs=N(0) GrpTRES={_NONE} MaxJobs=
ClusterName=test Account=lab UserName= Partition= ParentAccount=root(1) GrpJobs=9(0) GrpTRES=gres/gpu=32(0)
ClusterName=test Account=lab UserName=games(5) Partition= ParentAccount= GrpTRES={_NONE} MaxJobs=3 MaxTRESPJ=
QOS=normal(1) GrpJobs=N(0) GrpTRES={_NONE} MaxTRESPJ=gres/gpu=8 MaxTRESPN= Account Limits= \
lab={{MaxJobsPA=N(0) MaxTRESPA={_NONE}}} User Limits= 5={{MaxJobsPU=N(1) MaxTRESPU=cpu=N(1),gres/gpu=12(8)}}
QOS=wide(2) GrpJobs=2(0) GrpTRES=gres/gpu=64(0) MaxTRESPJ= MaxTRESPN=gres/gpu=4 Account Limits= User Limits=
"""
OF_ALL: Final = b"normal|gres/gpu=12|||\nwide||1||\n"


@pytest.fixture
def bounds() -> Bounds:
    return read_bounds(LISTING.encode(), [{"PartitionName": "gpu", "QoS": "N/A"}], OF_ALL)


def job(gpus: int, state: str = "PENDING", qos: str = "normal", user: int = 5, nodes: int = 1) -> JobRow:
    tres = f"cpu={nodes},node={nodes},gres/gpu={gpus}"
    alloc = tres if state == "RUNNING" else ""
    return JobRow(
        1, state, user, account="lab", qos=qos, partition="gpu", tres_req_str=tres, tres_alloc_str=alloc
    )


def found(bounds: Bounds, waiting: JobRow, *running: JobRow, first: JobRow | None = None) -> tuple[str, str]:
    pairs = ([("first", first)] if first is not None else []) + [("job", waiting)]
    standing = judge(running, pairs, bounds, "partition")["job"]
    return standing.exceeded, standing.contested


@pytest.mark.parametrize(
    ("waiting", "running", "exceeded"),
    [
        pytest.param(job(8), [], "", id="alone"),
        pytest.param(job(9), [], "MaxTRESPerJob=gres/gpu=8 of QOS normal", id="more-than-a-job-may-have"),
        pytest.param(job(8), [8], "MaxTRESPerUser=gres/gpu=12 of QOS normal", id="limit-of-the-user"),
        pytest.param(job(8, user=9), [8], "", id="another-user"),
        pytest.param(
            job(1), [1, 1, 1], "GrpJobs=3 of the user in account lab", id="jobs-of-the-user-in-the-account"
        ),
        pytest.param(job(8, qos="wide", nodes=2), [], "", id="per-node"),
        pytest.param(
            job(8, qos="wide"), [], "MaxTRESPerNode=gres/gpu=4 of QOS wide", id="more-than-a-node-may-give"
        ),
    ],
)
def test_job_that_exceeds_a_limit(bounds: Bounds, waiting: JobRow, running: list[int], exceeded: str) -> None:
    assert found(bounds, waiting, *(job(gpus, "RUNNING") for gpus in running)) == (exceeded, "")


def test_limit_of_a_qos_precedes_that_of_an_account(bounds: Bounds) -> None:
    others = [job(8, "RUNNING", "wide", user, nodes=2) for user in (6, 7, 8, 9)]
    assert found(bounds, job(4, user=3), *others)[0] == "GrpTRES=gres/gpu=32 of account lab"
    assert "GrpTRES=gres/gpu" not in found(bounds, job(4, qos="wide", user=3), *others)[0]


def test_users_without_jobs_have_the_limit_of_all(bounds: Bounds) -> None:
    assert found(bounds, job(1, qos="wide", user=7), job(1, "RUNNING", "wide", 7))[0] == (
        "MaxJobsPerUser=1 of QOS wide"
    )


def test_job_behind_another_one_is_contested(bounds: Bounds) -> None:
    assert found(bounds, job(8), first=job(8)) == ("", "MaxTRESPerUser=gres/gpu=12 of QOS normal")


def test_queues_have_their_own_limits(bounds: Bounds) -> None:
    running = [job(8, "RUNNING", "wide", user, nodes=2) for user in (6, 7, 8, 9)]
    assert judge(running, [("job", job(4, user=3))], bounds, "account")["job"] == ("", "")


def test_without_slurmdbd_there_are_none() -> None:
    assert judge([], [("job", job(99))], Bounds(), "account") == {}
