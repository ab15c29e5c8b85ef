"""A hold of an owner is never lost, whenever it comes."""

import pytest
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


@pytest.mark.parametrize("moment", ["after_place", "before_start"])
def test_nothing_is_evicted_for_a_job_that_is_held_meanwhile(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    site = make_site(monkeypatch, ["None", "Resources"])
    setattr(site.slurm, moment, lambda: hold(site))
    assert list(site.find_refusals()) == ["g"]
    assert site.slurm.live.is_held
