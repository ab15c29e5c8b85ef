"""A run that stops goes on from its checkpoint, and ends as if it had not stopped."""

from dataclasses import replace

import pytest
from tenure.simulator.journal import CheckpointError, Journal
from tenure.simulator.runs import play
from tenure.simulator.settings import RunSettings
from tenure.terms.durations import SECOND

from tests.simulator.played import random_jobs, run_input, solver

RUN = run_input(random_jobs(3, 30), (3, 4))


class Interrupt:
    """Raises KeyboardInterrupt after some calls, as Ctrl-C does."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, now: int, ended: int, cycles: int) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_a_run_goes_on_after_an_interrupt(tmp_path):
    whole = play(RUN)
    for calls in (20, 60):
        with pytest.raises(KeyboardInterrupt):
            play(RUN, checkpoint=tmp_path, progress=Interrupt(calls))
    rest = play(RUN, checkpoint=tmp_path)
    assert 0 < rest.restored < rest.results.cycles
    assert rest.results == whole.results
    assert rest.metrics == whole.metrics
    assert play(RUN, checkpoint=tmp_path).restored == whole.results.cycles


def test_a_run_that_was_cut_goes_on_to_a_later_time(tmp_path):
    start = RUN.trace.jobs[0].submit
    play(replace(RUN, until=start + 1_800 * SECOND), checkpoint=tmp_path)
    rest = play(RUN, checkpoint=tmp_path)
    assert rest.restored > 0
    assert rest.results == play(RUN).results


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_a_file_that_ends_within_a_block_is_used_up_to_the_block_before(tmp_path, cut):
    play(RUN, checkpoint=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-cut])
    assert play(RUN, checkpoint=tmp_path).results == play(RUN).results


@pytest.mark.long
def test_runs_with_other_inputs_have_other_checkpoints(tmp_path):
    play(RUN, checkpoint=tmp_path)
    other = replace(RUN, settings=RunSettings(termination_time=SECOND))
    assert play(other, checkpoint=tmp_path).restored == 0
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"something else", "is no checkpoint"),
        (b'tenure-run 1\n"other"\n', "is the checkpoint of a run with another"),
    ],
)
def test_a_file_of_another_run_is_refused_and_kept(tmp_path, content, problem):
    path = tmp_path / "a.run"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=problem):
        Journal(path, "this", solver())
    assert path.read_bytes() == content


def test_a_damaged_block_is_an_error(tmp_path):
    play(RUN, checkpoint=tmp_path)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="is damaged; delete it"):
        play(RUN, checkpoint=tmp_path)
