"""Behavior of the reference is imitated in a block only, and a case is shrunk to what it needs."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tenure.solver.search import devices

from tests.checks import Counts
from tests.conformance.cases import FORMAT, FORMAT_VERSION, Json, load_cases
from tests.conformance.large import command
from tests.conformance.large.reference_behavior import Behavior, imitating
from tests.conformance.large.shrinking import shrink, size_of
from tests.conformance.results import CaseVerdict
from tests.conformance.runner import run_case
from tests.conformance.small_cases import PENDING, case, expect, job, node, queue

plain_solver = pytest.mark.skipif(
    not str(devices.__file__).endswith(".py"), reason="compiled functions cannot be replaced"
)


def with_one_slot(**extra: Json) -> Json:
    """A node with a shared device that has space for another pod, and a single free pod slot."""
    full = node("node0", 1)
    full["allocatable"] = {**full["allocatable"], "pods": 2}
    jobs = [job("one", "q", [("Running", "node0")], gpus=0.5), job("two", "q", [PENDING], gpus=0.5)]
    found = case("slot", [full], [queue("q", 2)], [*jobs, *extra.values()], {})
    expected = {"two-0": {"status": "Binding", "node": "node0"}}
    wanted = {**found.data["expected"], "matcher": "random_oracle", "tasks": expected}
    return {**found.data, "expected": wanted}


def with_two_slots_needed() -> Json:
    """A case with the reference's verdict: the second pod waits."""
    data = with_one_slot()
    tasks = {"one-0": {"status": "Running", "node": "node0"}, "two-0": {"status": "Pending", "node": None}}
    return {**data, "expected": {**data["expected"], "tasks": tasks}}


def verdict_of(data: Json, tmp_path: Path) -> CaseVerdict:
    """Verdict on a case, read from a packed file."""
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, "cases": [data]}
    (tmp_path / "cases.json.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    (loaded,) = load_cases(tmp_path)
    return run_case(loaded, ()).verdict


@plain_solver
def test_a_behavior_is_imitated_within_the_block_only(tmp_path: Path) -> None:
    data = with_one_slot()
    with imitating([Behavior.SECOND_SLOT]):
        assert verdict_of(data, tmp_path) is CaseVerdict.FAILED
    assert verdict_of(data, tmp_path) is CaseVerdict.PASSED


@plain_solver
def test_a_case_is_shrunk_to_what_the_behavior_needs(tmp_path: Path) -> None:
    other = job("other", "q", [PENDING], gpus=5)
    data = with_one_slot(other=other)
    smaller = shrink(data, [Behavior.SECOND_SLOT])
    assert [each["name"] for each in smaller["jobs"]] == ["one", "two"]
    assert size_of(smaller) < size_of(data)
    assert verdict_of(smaller, tmp_path) is CaseVerdict.FAILED
    with pytest.raises(ValueError, match="makes no difference"):
        shrink(data, [Behavior.RETURNED])


@plain_solver
def test_a_known_behavior_is_found_for_a_case_that_is_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, "cases": [with_two_slots_needed()]}
    (tmp_path / "cases.json").write_text(json.dumps(content))
    assert command.main(tmp_path, processes=1) == Counts(0, 1)
    assert "slot: new\n" in capsys.readouterr().out
    assert command.main(tmp_path, find_causes=True, processes=1) == Counts(1, 0)
    assert "slot: explained by second-slot\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "told", "holds"),
    [
        (PENDING, ("Releasing", "node0"), ("Pending", None)),
        (("Running", "node0"), ("Releasing", "node1"), ("Releasing", "node0")),
        (("Running", "node0"), ("Pipelined", "node1"), ("Pipelined", "node1")),
    ],
    ids=["placed and evicted", "moved and evicted", "moved"],
)
def test_a_task_is_judged_by_what_it_holds_in_the_end(
    before: tuple[str, str | None], told: tuple[str, str], holds: tuple[str, str | None]
) -> None:
    """`told` is the reference's state, `holds` what the answer must amount to."""
    found = case("net", [node("node0", 0)], [queue("q", 1)], [job("j", "q", [before])], {"j": expect("-")})
    wanted = {"j-0": {"status": told[0], "node": told[1]}}
    data = {**found.data, "expected": {**found.data["expected"], "matcher": "random_oracle", "tasks": wanted}}
    differences = run_case(replace(found, data=data)).details
    where = f"{holds[0]} on {holds[1]}"
    expected = [] if holds == before else [f"task j-0: expected {where}"]
    assert [each.split(", got")[0] for each in differences] == expected


@pytest.mark.parametrize("behavior", Behavior)
def test_every_behavior_can_be_imitated(behavior: Behavior) -> None:
    with imitating([behavior]):
        pass
