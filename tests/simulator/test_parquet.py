"""Parquet files of runs: their rows are those of the metrics, with types, units and hostile names."""

from collections import Counter
from dataclasses import replace

import pytest
from tenure.simulator.baselines import Baseline
from tenure.simulator.report.parquet import write_tables
from tenure.simulator.runs import play
from tenure.terms.durations import SECOND

from tests.simulator.played import job, random_jobs, run_input

NAMES = ("runs", "jobs", "segments", "evictions", "notices", "cluster", "queues")
NASTY = "a\x00b\U0001f600\"',;\n"


def read(folder):
    from pyarrow import parquet

    return {name: parquet.read_table(folder / f"{name}.parquet") for name in NAMES}


@pytest.fixture(scope="module")
def runs():
    first = run_input(random_jobs(5), (2, 4), queues=("a", "b", "c"))
    return [play(replace(first, name="solver")), play(replace(first, name="fifo", policy=Baseline.FIFO))]


def test_rows_are_those_of_the_runs(runs, tmp_path):
    assert [path.name for path in write_tables(runs, tmp_path)] == [f"{name}.parquet" for name in NAMES]
    tables = {name: table.to_pylist() for name, table in read(tmp_path).items()}
    assert [row["run"] for row in tables["runs"]] == ["solver", "fifo"]
    for run, row in zip(runs, tables["runs"], strict=True):
        mine = {name: [each for each in rows if each["run"] == row["run"]] for name, rows in tables.items()}
        metrics = run.metrics
        assert row["wait_mean_seconds"] == metrics["all"]["wait"]["mean"]
        assert len(mine["jobs"]) == metrics["jobs"]["submitted"] == 45
        for key in ("kept", "lost", "overhead", "terminating", "unsaved"):
            hours = sum(each[f"{key}_gpu_hours"] for each in mine["jobs"])
            assert hours == pytest.approx(metrics["cluster"][key]), key
        assert sum(each["evictions"] for each in mine["jobs"]) == metrics["evictions"]["evictions"]
        assert Counter(each["action"] for each in mine["evictions"]) == metrics["evictions"]["by_action"]
        assert len(mine["segments"]) == sum(each["segments"] for each in mine["jobs"])
        waits = [
            (each["first_start"] - each["submit"]).total_seconds()
            for each in mine["jobs"]
            if each["first_start"] is not None
        ]
        assert sum(waits) / len(waits) == pytest.approx(metrics["all"]["wait"]["mean"])
    assert {each["queue"] for each in tables["queues"]} == {"a", "b", "c"}
    assert any(each["action"] for each in tables["evictions"])


def test_times_have_a_zone_and_unknown_values_are_null(tmp_path):
    run = play(replace(run_input([job("a", 0, 600, 8), job(NASTY, 10, 600, 8)]), until=300 * SECOND))
    write_tables([run], tmp_path)
    jobs = read(tmp_path)["jobs"]
    assert str(jobs.schema.field("submit").type) == "timestamp[us, tz=UTC]"
    first, second = jobs.to_pylist()
    assert second["job"] == NASTY
    assert (second["first_start"], second["end"], second["bounded_slowdown"]) == (None, None, None)
    assert first["expected_runtime_seconds"] is None
    assert first["submit"].timestamp() == 0


def test_a_table_without_rows_has_its_columns(tmp_path):
    write_tables([play(run_input([job("a", 0, 60)]))], tmp_path)
    evictions = read(tmp_path)["evictions"]
    assert evictions.num_rows == 0
    assert {"run", "seed", "victim", "beneficiary"} <= set(evictions.column_names)
