"""A small part of the check `fuzz`, always with the same cases, and tests that a run detects failures."""

from pathlib import Path

from tenure.solver.registry import default_profile

from tests.fuzz.campaign import Case, FuzzFailure, case_of, open_channel, run, try_case, write_finding
from tests.fuzz.corpus import seeds
from tests.server.servers import FailingEngine, run_server


def test_unmodified_seeds_succeed() -> None:
    with run_server() as (_, address), open_channel(address) as channel:
        for seed in seeds():
            messages = tuple(message.SerializeToString() for message in seed.messages)
            assert try_case(channel, Case(seed.method, messages)) == ("OK", "")


def test_cases_are_the_same_every_time() -> None:
    assert [case_of(1, i) for i in range(20)] == [case_of(1, i) for i in range(20)]
    assert len({case_of(1, i) for i in range(200)}) > 150


def test_every_mutated_request_ends_in_ok_or_a_proper_error() -> None:
    summary = run(seed=2026, count=1_000)
    assert not [finding.what for finding in summary.findings]
    assert sum(summary.endings.values()) == 1_000
    assert summary.endings["Decide OK"] > 25
    assert summary.endings["Decide INVALID_ARGUMENT"] > 25


def test_internal_error_is_reported_as_failure() -> None:
    with (
        run_server(FailingEngine(default_profile())) as (_, address),
        open_channel(address) as channel,
    ):
        messages = tuple(message.SerializeToString() for message in seeds()[0].messages)
        ending, problem = try_case(channel, Case("Decide", messages))
    assert ending == "INTERNAL"
    assert problem.startswith("INTERNAL: internal error")


def test_failure_is_written_to_a_file(tmp_path: Path) -> None:
    (file,) = write_finding(FuzzFailure(7, Case("Decide", (b"abc",)), "?"), tmp_path / "findings")
    assert file.name == "7-Decide-0.bin"
    assert file.read_bytes() == b"abc"
