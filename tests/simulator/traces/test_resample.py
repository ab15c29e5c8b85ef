"""Blocks of a trace that a seed draws again."""

import pytest
from tenure.simulator.jobs import Trace, TraceError
from tenure.simulator.traces.resample import resample
from tenure.terms.durations import SECOND

from tests.simulator.played import job

HOUR = 3_600
DAY = 24 * HOUR
TRACE = Trace(
    [
        job(f"day-{day}-{number}", day * DAY + number * HOUR, 60)
        for day in range(6)
        for number in range(day + 1)
    ],
    notes=("read",),
)


def drawn_days(trace: Trace) -> list[int]:
    return [int(each.name.split("-")[1]) for each in trace.jobs if each.name.split("@")[0].endswith("-0")]


def test_each_place_has_all_jobs_of_one_block_at_their_times_of_day():
    drawn = resample(TRACE, DAY * SECOND, 3)
    days = drawn_days(drawn)
    assert len(days) == 6
    assert len(drawn.jobs) == sum(day + 1 for day in days)
    for each in drawn.jobs:
        place = int(each.name.split("@")[1])
        number = int(each.name.split("@")[0].split("-")[2])
        assert each.submit == (place * DAY + number * HOUR) * SECOND
    assert [each.submit for each in drawn.jobs] == sorted(each.submit for each in drawn.jobs)
    assert len({each.name for each in drawn.jobs}) == len(drawn.jobs)
    assert drawn.notes == ("read", "drawn with seed 3 from 6 blocks of 1d each")


def test_a_seed_draws_the_same_blocks_and_seeds_draw_all_of_them():
    assert resample(TRACE, DAY * SECOND, 1) == resample(TRACE, DAY * SECOND, 1)
    draws = [tuple(drawn_days(resample(TRACE, DAY * SECOND, seed))) for seed in range(30)]
    assert len(set(draws)) == 30
    assert {day for draw in draws for day in draw} == set(range(6))


@pytest.mark.parametrize("block", [0, 7 * DAY * SECOND])
def test_a_trace_of_less_than_two_blocks_is_refused(block):
    with pytest.raises(TraceError, match="less than two blocks"):
        resample(TRACE, block, 0)
