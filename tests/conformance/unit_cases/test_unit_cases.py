"""Recorded unit tests run on Tenure's functions. Unmapped functions are named."""

from typing import Any

import pytest

from tests.conformance.cases import Case, Json
from tests.conformance.results import CaseVerdict
from tests.conformance.runner import run_case
from tests.conformance.unit_cases.expectations import matches


def _recorded(call: str, arguments: list[Any], actual: Json, matcher: str, expected: Any) -> Case:
    step = {"step": 0, "call": call, "args": arguments, "arg_names": [f"a{i}" for i in range(len(arguments))]}
    wanted = {"actual": {"step": 0, "result": 0, **actual}, "matcher": matcher, "expected": expected}
    data = {"steps": [{**step, "receiver": None}], "expect": [wanted]}
    return Case("own/unit", "min_runtime", frozenset({"unit"}), data)


def _parsed(text: str, expected_s: float) -> Case:
    arguments = [{"defaultReclaimMinRuntime": text}, "defaultReclaimMinRuntime"]
    return _recorded("parseMinRuntime", arguments, {}, "Equal", {"duration_s": expected_s})


def test_recorded_call_with_equal_result_passes() -> None:
    assert run_case(_parsed("1m30s", 90.0)).verdict is CaseVerdict.PASSED


def test_recorded_call_with_different_result_fails() -> None:
    result = run_case(_parsed("1m30s", 91.0))
    assert result.verdict is CaseVerdict.FAILED
    assert "expected Equal {'duration_s': 91.0}, got 90000000000" in result.details[0]


def test_a_call_that_raises_fails_with_the_name_of_the_error() -> None:
    (detail,) = run_case(_parsed("soon", 1.0)).details
    assert detail.startswith("ValueError at durations.py:")


def test_unmapped_call_is_named() -> None:
    result = run_case(_recorded("Plugin.unheardOf", [], {}, "BeTrue", True))
    assert (result.verdict, result.details) == (CaseVerdict.UNMAPPED, ("Plugin.unheardOf",))


def _fair_share(expected: float) -> Case:
    share = {"deserved": 1.0, "fair_share": 0.0, "max_allowed": -1.0, "over_quota_weight": 1.0, "usage": 0.0}
    queue = {"key": "1", "uid": "1", "priority": 0, "creation_rank": None, "gpu": {**share, "request": 3.0}}
    data = {
        "function": "setResourceShare",
        "total": {"gpu": 2.0},
        "k_value": 1.0,
        "resources": ["gpu"],
        "queues": [queue],
        "expected": {"remaining": 0.0, "fair_share": {"1": {"gpu": expected}}},
    }
    return Case("own/fair", "fair_share", frozenset({"unit"}), data)


def test_fair_shares_are_compared() -> None:
    assert run_case(_fair_share(2.0)).verdict is CaseVerdict.PASSED
    assert run_case(_fair_share(1.0)).details == ("queue 1: expected gpu fair share 1.0, got 2.0",)


@pytest.mark.parametrize(
    ("matcher", "actual", "expected", "is_met"),
    [
        ("Equal", 0.1 + 0.2, 0.3, True),
        ("Equal", 1, True, False),
        ("Equal", {"CPU": 1.0}, {"CPU": 1.0, "GPU": 0.0}, True),
        ("Equal", [1, 2], [1, 3], False),
        ("BeTrue", 1, None, False),
        ("BeFalse", False, None, True),
        ("NotBeZero", 0, None, False),
        ("HaveOccurred", None, None, False),
        ("NotHaveOccurred", "error", None, False),
        ("HaveLen", [1], 2, False),
        ("BeNumerically", 3, ["<=", 3], True),
        ("BeNumerically", 4, ["<=", 3], False),
    ],
)
def test_matchers(matcher: str, actual: Any, expected: Any, is_met: bool) -> None:
    assert matches(matcher, actual, expected) is is_met
