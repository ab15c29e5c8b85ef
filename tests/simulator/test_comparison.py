"""Policies over several seeds: means, deviations, and differences of runs that met the same luck."""

import re
from dataclasses import replace

import pytest
from tenure.simulator.baselines import Baseline
from tenure.simulator.comparison import Policy, Spread, spread_of, value_at
from tenure.simulator.report.page import render_page
from tenure.simulator.report.sweep_page import point_text
from tenure.simulator.runs import play
from tenure.simulator.settings import RunSettings
from tenure.terms.durations import SECOND

from tests.simulator.played import job, run_input

WAIT = value_at("all", "wait", "mean")


def waits(*values):
    return [{"all": {"wait": {} if value is None else {"mean": value}}} for value in values]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([4.0], Spread(4, 0, 1)),
        ([1.0, 3.0], Spread(2, 2**0.5, 2)),
        ([1.0, None], None),  # a mean over the other seeds would be that of other jobs
        ([], None),
    ],
)
def test_a_spread_is_the_mean_and_the_sample_deviation(values, expected):
    assert spread_of(values) == expected


def test_a_difference_is_that_of_runs_with_the_same_seed():
    before, after = Policy("before", waits(10, 100, 1_000)), Policy("after", waits(11, 101, 1_001))
    assert before.spread(WAIT).deviation > 500
    assert after.difference(before, WAIT) == Spread(1, 0, 3)
    assert Policy("none", waits(11, None, 1)).difference(before, WAIT) is None


def test_the_page_has_means_and_paired_differences():
    def played(policy, length, seed):
        jobs = [job("long", 0, length, 8), job("short", 60, 60, 8, "b")]
        settings = RunSettings(seed=seed, termination_time=30 * SECOND)
        return play(replace(run_input(jobs, settings=settings), name=str(policy), policy=policy))

    solver = run_input([job("x", 0, 1)]).policy
    lengths = {1: 600, 2: 1_200}
    fifo = [played(Baseline.FIFO, length, seed) for seed, length in lengths.items()]
    evicting = [played(solver, length, seed) for seed, length in lengths.items()]
    evicting = [replace(run, input=replace(run.input, name="solver")) for run in evicting]
    page = render_page([*fifo, *evicting])
    assert "means over the seeds 1, 2, with the standard deviation" in page
    row = re.search(r"<tr><td>Makespan</td>.*?</tr>", page).group()
    # FIFO: 600 + 60 and 1,200 + 60 s. The solver waits alike, since nothing is above its share.
    assert re.findall(r"16m ± 7m5s<", row) == ["16m ± 7m5s<"] * 2
    assert re.findall(r'<div class="difference">(.*?)</div>', row) == ["±0"]
    assert "lines the standard deviation" in page


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        (Spread(264.34, 191.4, 2), "264.3 ± 191.4"),
        (Spread(12_345.6, 1_234.5, 2), "12,346 ± 1,234"),
        (Spread(0.68993, 0.0204, 5), "0.6899 ± 0.0204"),
        (Spread(0.0, 0.0, 2), "0.000 ± 0.000"),
        (Spread(17.114, 0.0, 1), "17.11"),
        (None, "-"),
    ],
)
def test_a_figure_of_a_point_has_four_digits_and_a_deviation_with_as_many_decimals(spread, text):
    assert point_text(spread) == text
