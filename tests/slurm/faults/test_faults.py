"""A few runs of the fault matrix; `python -m tests slurm-faults` plays all."""

import pytest

from tests.slurm.faults.matrix import WRITES, play, strikes
from tests.slurm.faults.striking_commands import Strike

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300), pytest.mark.usefixtures("slurm_programs")]
PLAYED = ("adapter-after-2", "adapter-before-3", "adapter-after-6", "controller-after-3", "drain-before-7")


def test_undisturbed_run_needs_this_many_commands() -> None:
    run = play(Strike("", 0))
    assert not run.has_struck
    assert not run.operator_steps
    assert len(run.commands) <= WRITES, run.commands


@pytest.mark.parametrize("name", PLAYED)
def test_result_is_the_same_whatever_dies(name: str) -> None:
    play(dict(strikes())[name])


def test_matrix_has_at_least_sixty_runs() -> None:
    assert len(dict(strikes())) >= 60
