"""A few runs of the fault matrix; `python -m tests slurm-faults` plays all."""

from collections import Counter
from typing import Final

import pytest

from tests.slurm.faults.matrix import play, strikes
from tests.slurm.faults.scenario import STARTED
from tests.slurm.faults.striking_commands import Strike

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300), pytest.mark.usefixtures("slurm_programs")]
_STARTS: Final = {"1": 2, "2": 2, "3": 2}
"""How often each job is released: for each start, and once before others are evicted for it."""
_REQUEUES: Final = {"1": 1, "2": 1}
PLAYED = ("adapter-after-2", "adapter-before-3", "adapter-after-6", "controller-after-3", "drain-before-7")


def test_undisturbed_run_commands_each_job_as_seldom_as_possible() -> None:
    """Counted per job: those of a cycle share a command, and which share a cycle depends on Slurm's pace."""
    run = play(Strike("", 0))
    assert not run.has_struck
    assert not run.operator_steps
    starts = Counter(job for write in run.commands for job in STARTED.findall(write))
    assert starts == _STARTS or run.unused_releases, run.commands
    requeues = Counter(write.split()[-1] for write in run.commands if " requeuehold " in write)
    assert requeues == _REQUEUES or run.unused_releases, run.commands
    verbs = {write.split()[2] for write in run.commands}
    assert verbs == {"update", "requeuehold"}, run.commands


@pytest.mark.parametrize("name", PLAYED)
def test_result_is_the_same_whatever_dies(name: str) -> None:
    play(dict(strikes())[name])


def test_matrix_has_at_least_a_hundred_and_fifty_runs() -> None:
    assert len(dict(strikes())) >= 150
