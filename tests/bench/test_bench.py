"""Every small benchmark case has the expected counts and the operation counters of the golden file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import golden_counters
from tests.bench import sample as bench_sample
from tests.bench.call_measurement import measure_calls
from tests.bench.churn import measure_churn
from tests.bench.decide_measurement import measure_decide
from tests.bench.flame_graph import profile
from tests.bench.performance_page import BEGIN, END, PAGE, render_page
from tests.bench.play_measurement import measure_play
from tests.bench.reference_figures import PUBLISHED_MS, TWO_CORES_MS
from tests.bench.result_table import exceeded, growth
from tests.bench.starts_measurement import measure_starts
from tests.bench.workloads.case import CallMode, Case
from tests.bench.workloads.catalog import all_cases, select_cases

SMALL = [
    *select_cases(["W?@S", "W6", "W7", "W8@10", "W8@50", "W9@10", "W9@50", "W10@10", "W10@100", "W10u@10"]),
    *select_cases(["U4@20", "U6", "S6@50", "T@100"]),
]
CALLED = [
    pytest.param(case, way, id=f"{case.name} {way}", marks=[] if way is CallMode.COLD else [pytest.mark.long])
    for case in select_cases(["W1@S", "W8@10"])
    for way in (CallMode.COLD, CallMode.WARM)
]


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_counters_of_a_decision_match_the_golden_file(case: Case):
    assert golden_counters.differences(measure_decide(case, 1)) == []


def test_long_cases_run_only_when_named_or_requested():
    (named,) = select_cases(["W9@10000"])
    assert named.is_long
    assert named not in select_cases([])
    assert select_cases([], with_long=True) == all_cases()


def test_golden_file_contains_every_short_case():
    decided = {case.name for case in select_cases([]) if CallMode.DECIDE in case.ways}
    assert decided <= set(golden_counters.load_counters())


@pytest.mark.parametrize(("case", "way"), CALLED)
def test_outcome_of_calls_equals_outcome_of_the_decision(case: Case, way: CallMode):
    sample = measure_calls(case, way, 1)
    assert sample.outcome == measure_decide(case, 1).outcome
    assert sample.median_ms > 0


def test_churn_binds_submitted_jobs_in_every_cycle():
    (case,) = select_cases(["U5@50"])
    sample = measure_churn(case, 2, cycles=5)
    assert sample.outcome["kinds"] == {"BOUND": 12}
    assert len(sample.wall_ms) == len(sample.cpu_ms) == 10
    assert sample.tails_ms == [max(sample.wall_ms[:5]), max(sample.wall_ms[5:])]


def test_a_played_day_ends_all_jobs():
    (case,) = select_cases(["P1@8"])
    sample = measure_play(case, 1)
    assert sample.outcome["completed"] == sample.outcome["jobs"] > 200
    assert sample.outcome["evictions"] > 0
    assert sample.counters["cycles"] > 200


@pytest.mark.long
def test_work_of_estimated_starts_grows_with_the_cluster_r17_22():
    """No faster, where as many cycles are played; the number of starts does too."""
    few, many = (measure_starts(case, 1) for case in select_cases(["E@50", "E@100"]))
    assert (few.outcome["likely"], many.outcome["likely"]) == (500, 1_000)
    for name in ("likely placements", "likely moved"):
        assert many.counters[name] <= 2.2 * few.counters[name]


def test_single_reclaims_evict_one_victim_each():
    (case,) = select_cases(["S6@50"])
    outcome = measure_churn(case, 1).outcome
    assert (outcome["reserved"], outcome["evicted"]) == (1, 1)


@pytest.mark.parametrize(
    ("stolen", "made", "kept"),
    [([0.02], 1, 0.02), ([0.5, 0.0], 2, 0.0), ([0.3, 0.1, 0.2], 3, 0.1)],
    ids=["quiet at once", "quiet later", "never quiet"],
)
def test_measurement_is_repeated_while_the_host_steals_time(
    monkeypatch: pytest.MonkeyPatch, stolen: list[float], made: int, kept: float
):
    """The sample with the least stolen time is used, even if it is the slowest."""
    samples = [
        bench_sample.Sample("W1@S", CallMode.DECIDE, [1 / (share + 1)], [1.0], {}, {}, 0.5, share)
        for share in stolen
    ]
    coming = iter(samples)
    monkeypatch.setattr(bench, "measure_row", lambda *_: next(coming))
    (case,) = select_cases(["W1@S"])
    assert bench._sample_with_least_steal(case, CallMode.DECIDE, 9, 3).stolen_share == kept
    assert len(samples) - len(list(coming)) == made


def test_steal_share_is_a_fraction_of_requested_processor_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    processors = tmp_path / "stat"
    monkeypatch.setattr(bench_sample, "_PROCESSORS", processors)
    processors.write_text("cpu  100 0 0 5000 70 0 0 10 40 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    theft = bench_sample.StealMeter()
    assert theft.share() == 0
    processors.write_text("cpu  130 20 20 9000 90 5 5 30 60 0\n")
    assert theft.share() == pytest.approx(20 / 100)


def test_p99_of_several_runs_is_the_median_of_their_p99s():
    times = [*range(100), *range(1_000, 1_100)]
    together = bench_sample.Sample("W1@S", CallMode.CHURN, times, [1.0], {}, {}, 0.5, 0.0)
    assert together.p99_ms == 1_098
    assert replace(together, tails_ms=[99, 1_099, 100]).p99_ms == 100


def test_growth_is_the_slope_of_time_over_size():
    rows = [{"case": f"W@{n}", "way": "decide", "median_ms": n**1.5} for n in (100, 200, 1_000)]
    assert growth(rows)["W decide"] == pytest.approx(1.5)


def test_growth_and_memory_above_a_limit_are_told():
    times = {100: 1, 400: 8, 1600: 64}
    rows = [{"case": f"W@{n}", "way": "decide", "median_ms": t, "server_mib": n} for n, t in times.items()]
    assert exceeded(rows, 1.51, 1600) == []
    assert exceeded(rows, 1.15, 1599) == [
        "W decide: time grows with size to the power of 1.50; the limit is 1.15",
        "W@1600 decide: the server took 1600 MiB; the limit is 1599",
    ]


def test_a_flame_graph_names_the_functions_of_the_solver(tmp_path: Path):
    (case,) = select_cases(["W8@10"])
    content = json.loads(profile(case, tmp_path).read_text())
    names = {frame["name"] for frame in content["shared"]["frames"]}
    assert "decide" in names


ROW = {"case": "W1@S", "runs": 9, "load": 0.5, "stolen_share": 0.011, "server_mib": None, "tails_ms": []}


def test_new_figures_replace_those_on_the_page():
    old = f"# Title\n\n{BEGIN}earlier\n{END}\nThe rest.\n"
    rows = [
        {**ROW, "way": "decide", "median_ms": 4.5, "p99_ms": 5.0},
        {**ROW, "way": "again", "median_ms": 0.8, "p99_ms": 1_200.0, "runs": 500, "server_mib": 63.2},
    ]
    page = render_page(old, rows, {"W1 decide": 1.04})
    assert "| W1@S | 7 ms | 7.6 ms | 4.5 ms |  |  | 0.8 ms / 1.2 s |  |  |  |  | 63 MiB |" in page
    assert "host gave to other machines: 1% to 1%" in page
    assert "by number of nodes: W1 decide 1.04." in page
    assert "earlier" not in page
    assert render_page(page, rows, {"W1 decide": 1.04}) == page


def test_page_states_the_number_of_runs_of_a_p99():
    row = {**ROW, "way": "churn", "median_ms": 1.8, "p99_ms": 2.5, "runs": 300, "tails_ms": [2, 2.5, 3]}
    page = render_page(f"{BEGIN}{END}", [row], {})
    assert "(churn: the median of 3 runs on separate servers)" in page


def test_performance_page_has_one_block_for_figures():
    assert PAGE.read_text().count(BEGIN) == PAGE.read_text().count(END) == 1


def test_every_figure_of_the_reference_has_a_case():
    names = {case.name for case in all_cases()}
    assert {*PUBLISHED_MS, *TWO_CORES_MS} <= names


def test_names_of_cases_are_unique():
    names = [case.name for case in all_cases()]
    assert len(names) == len(set(names))
