"""A hold of an owner is never lost, whenever it comes. An adapter that ends leaves no job released."""

from collections.abc import Sequence

import pytest
from tenure.integration.ports import ClusterError
from tenure.slurm.observe.refused_starts import KEPT_HELD
from tenure.slurm.release import HELD

from tests.slurm.scripted_slurm import Site, make_site


def hold(site: Site) -> None:
    """What the gate makes of `scontrol hold` by the owner of a job that is held already."""
    site.slurm.text = "tenure: hold=true"


def test_hold_before_the_start_is_found_in_the_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    site.slurm.after_place = lambda: hold(site)
    (result,) = site.bind().values()
    assert result is not None
    assert result.detail == HELD
    assert site.slurm.commands == ["place"]


def test_hold_after_all_checks_is_no_refusal_of_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate refuses the start then. The job may start as soon as its owner releases it."""
    site = make_site(monkeypatch, ["None"])
    site.slurm.before_start = lambda: hold(site)
    (result,) = site.bind().values()
    assert result is not None
    assert result.detail == HELD
    assert site.slurm.live.is_held
    assert site.refused.find(site.source.jobs[site.group].run) is None
    assert not site.starter.released


def test_job_that_slurm_keeps_held_says_that_the_gate_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    site.slurm.has_gate = False
    (result,) = site.bind().values()
    assert result is not None
    assert result.detail == KEPT_HELD
    wait = site.refused.find(site.source.jobs[site.group].run)
    assert wait is not None
    assert wait.text == KEPT_HELD
    assert not site.starter.released
    assert site.find_refusals() == {"g": KEPT_HELD}


@pytest.mark.parametrize("moment", ["after_place", "before_start"])
def test_nothing_is_evicted_for_a_job_that_is_held_meanwhile(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    site = make_site(monkeypatch, ["None", "Resources"])
    setattr(site.slurm, moment, lambda: hold(site))
    assert list(site.find_refusals()) == ["g"]
    assert site.slurm.live.is_held


def test_job_that_was_released_and_does_not_run_is_held_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    assert list(site.bind().values()) == [None], "its start goes on"
    assert site.starter.released == {"7"}
    assert not site.slurm.live.is_held
    site.starter.close()
    assert site.slurm.live.is_held
    assert not site.starter.released
    assert site.starter.recheck_seconds is None


def test_job_that_runs_at_the_end_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    site.bind()
    site.slurm.live = site.slurm.live._replace(state="RUNNING", nodes="n1")
    site.starter.close()
    assert site.slurm.commands == ["place", "start"]


def test_nothing_is_released_for_a_probe_without_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    with monkeypatch.context() as patch:
        patch.setattr(site.slurm, "configuration", site.slurm.fail)
        with pytest.raises(ClusterError):
            site.find_refusals()
    assert site.slurm.live.is_held


def test_job_of_a_probe_that_failed_is_held_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    with monkeypatch.context() as patch:
        patch.setattr(site.slurm, "hold", site.slurm.fail)
        with pytest.raises(ClusterError):
            site.find_refusals()
    assert not site.slurm.live.is_held
    site.starter.close()
    assert site.slurm.live.is_held


def test_job_of_a_start_that_failed_is_held_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """slurmctld releases the job, and its answer is lost."""
    site = make_site(monkeypatch, ["None"])
    start = site.slurm.start

    def start_and_fail(references: Sequence[str]) -> None:
        start(references)
        site.slurm.fail()

    with monkeypatch.context() as patch:
        patch.setattr(site.slurm, "start", start_and_fail)
        site.bind()
    assert not site.slurm.live.is_held
    site.starter.close()
    assert site.slurm.live.is_held


def test_end_tolerates_a_lost_lease_and_a_slurm_that_is_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = make_site(monkeypatch, ["None"])
    site.bind()
    site.slurm.may_write = False
    site.starter.close()
    assert "Jobs 7 may be released, and cannot be held: the lease is lost" in caplog.text
    other = make_site(monkeypatch, ["None"])
    other.bind()
    monkeypatch.setattr(other.slurm, "live_jobs", other.slurm.fail)
    other.starter.close()
    assert "cannot be held: slurmctld is away" in caplog.text


def test_end_without_released_jobs_commands_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(monkeypatch, ["None"])
    monkeypatch.setattr(site.slurm, "live_jobs", site.slurm.fail)
    site.starter.close()
    assert site.slurm.commands == []
