"""Nothing is evicted for a job unless Slurm itself says that the job only waits for its nodes."""

from collections.abc import Sequence

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.slurm.starter import LONGEST_PROBE_SECONDS, PROBE_SECONDS, probe_seconds
from tenure.v1 import decision_pb2 as pb

from tests.slurm.scripted_slurm import NOW, make_site

RESOURCES, RESERVED = "Resources", "ReqNodeNotAvail, May be reserved for other job"


@pytest.mark.parametrize("reasons", [["None", RESOURCES], ["Priority", RESERVED], [f"({RESOURCES})"]])
def test_evictions_go_on_if_slurm_only_waits_for_the_nodes(
    monkeypatch: pytest.MonkeyPatch, reasons: Sequence[str]
) -> None:
    site = make_site(monkeypatch, reasons)
    assert site.find_refusals() == {}
    assert site.slurm.commands == ["place", "start", "hold"]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        pytest.param("None", "Slurm did not say within 4 s", id="silence"),
        pytest.param("Priority", "would start the job (Priority)", id="not-its-turn"),
        pytest.param("Cleaning", "(Cleaning)", id="cleaning"),
        pytest.param(
            "ReqNodeNotAvail, Reserved for maintenance", "Reserved for maintenance", id="maintenance"
        ),
        pytest.param("ReqNodeNotAvail, UnavailableNodes:n1", "UnavailableNodes:n1", id="away"),
        pytest.param("ReqNodeNotAvail,_Reserved_for_maintenance", "Reserved_for", id="newer-form"),
        pytest.param("ReqNodeNotAvail", "did not start the job: ReqNodeNotAvail", id="without-a-cause"),
        pytest.param("BadConstraints", "BadConstraints", id="request"),
        pytest.param("QOSMaxGRESPerUser", "limit QOSMaxGRESPerUser is reached", id="limit"),
    ],
)
@pytest.mark.parametrize("kind", ["evict", "notify"])
def test_nothing_is_evicted_for_any_other_answer(
    monkeypatch: pytest.MonkeyPatch, reason: str, text: str, kind: str
) -> None:
    site = make_site(monkeypatch, [reason])
    decision = {"evict": pb.Evict(pod="other", node="n1"), "notify": pb.Notify(pod="other")}[kind]
    assert text in site.find_refusals(**{kind: decision})["g"]
    assert site.slurm.live.is_held


def test_job_that_slurm_is_silent_about_is_offered_and_evicts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = make_site(monkeypatch, ["None"])
    site.find_refusals()
    rows = site.source.snapshot(Timestamp(seconds=NOW + 1))
    assert [row.never_evicts for row in rows.pod_groups] == [True]
    assert not rows.pods[0].blocked_reason
    assert "lower batch_sched_delay or remove defer" in site.source.jobs[site.group].rows.waits
    assert site.refused.recheck_seconds is not None
    rows = site.source.snapshot(Timestamp(seconds=site.refused.recheck_seconds))
    assert [row.never_evicts for row in rows.pod_groups] == [False]


def test_slurm_tells_it_again_before_each_eviction(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job may have run in between, and a limit may have been set."""
    site = make_site(monkeypatch, [RESOURCES])
    assert site.find_refusals() == {}
    site.slurm.reasons = ["ReqNodeNotAvail, Reserved for maintenance"]
    assert list(site.find_refusals()) == ["g"]


def test_job_that_its_owner_holds_meanwhile_evicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    start = site.slurm.start

    def held_at_once(references: Sequence[str]) -> None:
        start(references)
        site.slurm.live = site.slurm.live._replace(priority=0, reason="JobHeldUser")

    monkeypatch.setattr(site.slurm, "start", held_at_once)
    assert site.find_refusals() == {"g": "the job was held meanwhile"}


def test_job_that_slurm_itself_holds_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    hold = {"priority": 0, "reason": "BadConstraints"}
    monkeypatch.setattr(
        site.slurm, "start", lambda _: setattr(site.slurm, "live", site.slurm.live._replace(**hold))
    )
    assert "BadConstraints" in site.find_refusals()["g"]
    assert site.refused.find(site.source.jobs[site.group].run) is not None


@pytest.mark.parametrize(
    ("parameters", "seconds"),
    [
        ("(null)", PROBE_SECONDS),
        ("bf_interval=5,batch_sched_delay=8", 9.0),
        ("batch_sched_delay=0", PROBE_SECONDS),
        ("defer,Batch_Sched_Delay=600,bf_continue", LONGEST_PROBE_SECONDS),
    ],
)
def test_wait_for_an_answer_follows_the_settings_of_the_scheduler(
    monkeypatch: pytest.MonkeyPatch, parameters: str, seconds: float
) -> None:
    assert probe_seconds({"SchedulerParameters": parameters}) == seconds
    site = make_site(monkeypatch, ["None"], parameters)
    assert f"within {seconds:.0f} s" in site.find_refusals()["g"]
    assert site.clock.slept == pytest.approx(seconds, abs=0.2)


def test_nothing_is_evicted_for_a_part_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, [RESOURCES])
    evict = pb.Decision(id="e", evict=pb.Evict(pod="other", node="n1"))
    group = pb.DecisionGroup(id="g", beneficiary=site.group, decisions=[evict])
    assert "not all of its nodes are decided" in site.starter.find_refusals([group])["g"]
    assert site.slurm.commands == []


@pytest.mark.parametrize("beneficiary", ["", "unknown"])
def test_evictions_for_no_waiting_job_need_no_answer(
    monkeypatch: pytest.MonkeyPatch, beneficiary: str
) -> None:
    site = make_site(monkeypatch, [RESOURCES])
    evict = pb.Decision(id="e", evict=pb.Evict(pod="other", node="n1"))
    group = pb.DecisionGroup(id="g", beneficiary=beneficiary, decisions=[evict])
    assert site.starter.find_refusals([group]) == {}
    assert site.slurm.commands == []
