"""A refused job waits until something changed for it, and for nothing else."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest
from tenure.slurm.observe.accounts import Associations
from tenure.slurm.observe.cluster import Reading, Run
from tenure.slurm.observe.limits import Bounds
from tenure.slurm.observe.refused_starts import (
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    RefusalKind,
    RefusedStarts,
    kind_of,
)
from tenure.slurm.observe.rows import JobRow, NodeRow

NOW: Final = 1_800_000_000
JOB: Final = JobRow(7, "PENDING", 5, account="lab", qos="normal", partition="gpu", tres_req_str="cpu=1")
OTHER: Final = JobRow(8, "RUNNING", 5, account="x", qos="y", partition="gpu", nodes="n2")
NODES: Final = (NodeRow("n1", "idle", 64, 1_000), NodeRow("n2", "mixed", 64, 1_000))
LIMIT, REQUEST, PLACE = "QOSMaxGRESPerUser", "BadConstraints", "ReqNodeNotAvail, May be reserved"


def reading(jobs: Sequence[JobRow] = (JOB, OTHER), nodes: Sequence[NodeRow] = NODES, **more: Any) -> Reading:
    return Reading(jobs, nodes, **more)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Resources", None),
        ("Priority", None),
        ("None", None),
        ("ReqNodeNotAvail, UnavailableNodes:n1", None),
        (LIMIT, RefusalKind.LIMIT),
        ("AssocGrpCPUMinutesLimit", RefusalKind.LIMIT),
        ("Licenses", RefusalKind.LIMIT),
        (REQUEST, RefusalKind.REQUEST),
        ("PartitionNodeLimit", RefusalKind.REQUEST),
        ("BurstBufferResources", RefusalKind.PLACE),
    ],
)
def test_kind_of_a_reason(reason: str, kind: RefusalKind | None) -> None:
    assert kind_of(reason) is kind


ENDED: Final = reading((JOB,))
STRANGER_ENDED: Final = reading((JOB, OTHER, msgspec.structs.replace(OTHER, job_id=9, job_state="COMPLETED")))
DRAINED: Final = reading(nodes=(NODES[0], NodeRow("n2", "mixed", 64, 1_000, ["DRAIN"])))
IN_USE: Final = reading(nodes=(NODES[0], NodeRow("n2", "allocated", 64, 1_000, gres_used="gpu:8")))
RAISED: Final = reading(associations=Associations(bounds=Bounds({}, {}, {("lab", "5"): ...})))  # type: ignore[dict-item]


def edited(**fields: Any) -> Reading:
    return reading((msgspec.structs.replace(JOB, **fields), OTHER))


EDITED: Final = edited(tres_req_str="cpu=2")


@pytest.mark.parametrize(
    ("reason", "later", "waits"),
    [
        pytest.param(LIMIT, reading(), True, id="nothing-changed"),
        pytest.param(LIMIT, ENDED, False, id="a-job-of-the-user-ended"),
        pytest.param(LIMIT, RAISED, False, id="limits-changed"),
        pytest.param(LIMIT, DRAINED, True, id="nodes-do-not-change-a-limit"),
        pytest.param(REQUEST, ENDED, True, id="no-job-changes-a-request"),
        pytest.param(REQUEST, DRAINED, False, id="nodes-changed"),
        pytest.param(REQUEST, IN_USE, True, id="use-changes-no-node"),
        pytest.param(PLACE, ENDED, False, id="a-job-on-its-nodes-ended"),
        pytest.param(PLACE, STRANGER_ENDED, True, id="a-job-that-never-ran"),
        pytest.param(REQUEST, EDITED, False, id="it-was-edited"),
        pytest.param(REQUEST, edited(resv_name="later"), False, id="its-reservation-was-edited"),
        pytest.param(REQUEST, edited(minimum_cpus_per_node=4), False, id="its-mincpus-was-edited"),
        pytest.param(REQUEST, edited(minimum_tmp_disk_per_node=5), False, id="its-disk-was-edited"),
        pytest.param(REQUEST, edited(required_nodes="n1"), True, id="the-adapter-places-it"),
    ],
)
def test_refused_job_waits_until_something_changed_for_it(reason: str, later: Reading, waits: bool) -> None:
    refused = RefusedStarts()
    refused.observe(reading(), NOW)
    assert reason in refused.add(Run("7", "7", JOB), reason, ["n2"], NOW)
    refused.observe(reading(), NOW + 1)
    refused.observe(later, NOW + 2)
    assert (refused.find(Run("7", "7", later.jobs[0])) is not None) == waits


REASONS: Final = (
    PLACE,
    LIMIT,
    "AssocGrpCPUMinutesLimit",
    REQUEST,
    *("PartitionDown", "PartitionInactive", "PartitionTimeLimit", "InvalidQOS", "AccountNotAllowed"),
)


@pytest.mark.parametrize("reason", REASONS)
def test_whatever_refused_it_is_tried_again_after_growing_pauses(reason: str) -> None:
    """A partition that is up again, or used time that decays, shows in no listing."""
    refused, run = RefusedStarts(), Run("7", "7", JOB)
    refused.observe(reading(), NOW)
    for pause in (FIRST_PAUSE_SECONDS, 2 * FIRST_PAUSE_SECONDS):
        refused.add(run, reason, ["n1"], NOW)
        assert refused.recheck_seconds == NOW + pause
        refused.observe(reading(), NOW + pause - 1)
        assert refused.find(run) is not None
        refused.observe(reading(), NOW + pause)
        assert refused.find(run) is None


def test_pause_never_exceeds_ten_minutes() -> None:
    refused, run = RefusedStarts(), Run("7", "7", JOB)
    for _ in range(20):
        refused.add(run, REQUEST, ["n1"], NOW)
    assert refused.recheck_seconds == NOW + LONGEST_PAUSE_SECONDS


def test_what_the_adapter_sets_to_place_a_job_is_no_edit() -> None:
    """Slurm counts the total again when the number of nodes is set."""
    refused, run = RefusedStarts(), Run("7", "7", JOB)
    refused.observe(reading(), NOW)
    refused.add(run, REQUEST, ["n1"], NOW)
    refused.observe(edited(tres_req_str="cpu=1,node=2"), NOW + 1)
    assert refused.find(run) is not None
    refused.observe(edited(tres_req_str="cpu=2,node=2"), NOW + 2)
    assert refused.find(run) is None
