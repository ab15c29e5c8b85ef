"""The benchmarks measure what they say: every small case comes out as it must, with the same work as ever."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import golden
from tests.bench import sample as bench_sample
from tests.bench.calling import measure_calls
from tests.bench.case import Case, Way
from tests.bench.catalogue import all_cases, picked
from tests.bench.churn import measure_churn
from tests.bench.deciding import measure_decide
from tests.bench.page import BEGIN, END, PAGE, written
from tests.bench.profiling import profile
from tests.bench.reference import PUBLISHED_MS, TWO_CORES_MS
from tests.bench.table import growth

SMALL = [
    *picked(["W?@S", "W6", "W7", "W8@10", "W8@50", "W9@10", "W9@50", "W10@10", "W10@100", "W10u@10"]),
    *picked(["U4@20", "U6", "S6@50", "T@100"]),
]
CALLED = [(case, way) for case in picked(["W1@S", "W8@10"]) for way in (Way.COLD, Way.WARM)]


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_a_decision_takes_exactly_the_operations_of_the_golden_file(case: Case):
    assert golden.differences(measure_decide(case, 1)) == []


def test_long_cases_are_picked_when_they_are_named_or_asked_for():
    (named,) = picked(["W9@10000"])
    assert named.is_long
    assert named not in picked([])
    assert picked([], with_long=True) == all_cases()


def test_the_golden_file_knows_every_case_that_is_not_long():
    decided = {case.name for case in picked([]) if Way.DECIDE in case.ways}
    assert decided <= set(golden.known())


@pytest.mark.parametrize(("case", "way"), CALLED, ids=[f"{case.name} {way}" for case, way in CALLED])
def test_calls_come_out_as_the_decision_does(case: Case, way: Way):
    sample = measure_calls(case, way, 1)
    assert sample.outcome == measure_decide(case, 1).outcome
    assert sample.median_ms > 0


def test_churn_binds_what_comes_in_every_cycle():
    (case,) = picked(["U5@50"])
    sample = measure_churn(case, 2, cycles=5)
    assert sample.outcome["kinds"] == {"BOUND": 12}
    assert len(sample.wall_ms) == len(sample.cpu_ms) == 10
    assert sample.tails_ms == [max(sample.wall_ms[:5]), max(sample.wall_ms[5:])]


def test_single_reclaims_take_one_victim_each_as_long_as_they_last():
    (case,) = picked(["S6@50"])
    outcome = measure_churn(case, 1).outcome
    assert (outcome["held"], outcome["evicted"]) == (1, 1)


@pytest.mark.parametrize(
    ("stolen", "made", "kept"),
    [([0.02], 1, 0.02), ([0.5, 0.0], 2, 0.0), ([0.3, 0.1, 0.2], 3, 0.1)],
    ids=["quiet at once", "quiet later", "never quiet"],
)
def test_it_is_measured_again_while_the_host_steals(
    monkeypatch: pytest.MonkeyPatch, stolen: list[float], made: int, kept: float
):
    """However long each of them took: the slowest in these is the quietest."""
    samples = [
        bench_sample.Sample("W1@S", Way.DECIDE, [1 / (share + 1)], [1.0], {}, {}, 0.5, share)
        for share in stolen
    ]
    coming = iter(samples)
    monkeypatch.setattr(bench, "_sample", lambda *_: next(coming))
    (case,) = picked(["W1@S"])
    assert bench._quietest(case, Way.DECIDE, 9, 3).stolen == kept
    assert len(samples) - len(list(coming)) == made


def test_what_the_host_steals_is_a_part_of_what_was_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    processors = tmp_path / "stat"
    monkeypatch.setattr(bench_sample, "_PROCESSORS", processors)
    processors.write_text("cpu  100 0 0 5000 70 0 0 10 40 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    theft = bench_sample.Theft()
    assert theft.share() == 0
    processors.write_text("cpu  130 20 20 9000 90 5 5 30 60 0\n")
    assert theft.share() == pytest.approx(20 / 100)


def test_the_99th_percentile_of_several_runs_is_the_median_of_theirs():
    times = [*range(100), *range(1_000, 1_100)]
    together = bench_sample.Sample("W1@S", Way.CHURN, times, [1.0], {}, {}, 0.5, 0.0)
    assert together.p99_ms == 1_098
    assert replace(together, tails_ms=[99, 1_099, 100]).p99_ms == 100


def test_growth_is_the_slope_of_time_over_size():
    rows = [{"case": f"W@{n}", "way": "decide", "median_ms": n**1.5} for n in (100, 200, 1_000)]
    assert growth(rows)["W decide"] == pytest.approx(1.5)


def test_a_flame_graph_names_the_functions_of_the_solver(tmp_path: Path):
    (case,) = picked(["W8@10"])
    content = json.loads(profile(case, tmp_path).read_text())
    names = {frame["name"] for frame in content["shared"]["frames"]}
    assert "decide" in names


ROW = {"case": "W1@S", "runs": 9, "load": 0.5, "stolen": 0.011, "server_mib": None, "tails_ms": []}


def test_figures_take_the_place_of_those_on_the_page():
    old = f"# Title\n\n{BEGIN}earlier\n{END}\nThe rest.\n"
    rows = [
        {**ROW, "way": "decide", "median_ms": 4.5, "p99_ms": 5.0},
        {**ROW, "way": "again", "median_ms": 0.8, "p99_ms": 1_200.0, "runs": 500, "server_mib": 63.2},
    ]
    page = written(old, rows, {"W1 decide": 1.04})
    assert "| W1@S | 7 ms | 7.6 ms | 4.5 ms |  |  | 0.8 ms / 1.2 s |  |  | 63 MiB |" in page
    assert "the host gave 1% to 1% to other machines" in page
    assert "to the power of: W1 decide 1.04." in page
    assert "earlier" not in page
    assert written(page, rows, {"W1 decide": 1.04}) == page


def test_the_page_says_of_how_many_runs_a_99th_percentile_is():
    row = {**ROW, "way": "churn", "median_ms": 1.8, "p99_ms": 2.5, "runs": 300, "tails_ms": [2, 2.5, 3]}
    page = written(f"{BEGIN}{END}", [row], {})
    assert "(of churn: the median of those of 3 runs on servers of their own)" in page


def test_the_page_of_performance_has_a_place_for_figures():
    assert PAGE.read_text().count(BEGIN) == PAGE.read_text().count(END) == 1


def test_every_figure_of_the_reference_has_a_case():
    names = {case.name for case in all_cases()}
    assert {*PUBLISHED_MS, *TWO_CORES_MS} <= names


def test_names_of_cases_are_unique():
    names = [case.name for case in all_cases()]
    assert len(names) == len(set(names))
