"""Recorded unit tests: runs the calls of a case on Tenure's functions and checks the expected results."""

from collections.abc import Collection, Mapping
from typing import Any

from tests.conformance.cases import Case, Json
from tests.conformance.unit_cases.expectations import matches
from tests.conformance.unit_cases.fair_share import FAIR_SHARE_FUNCTIONS, fair_share_differences
from tests.conformance.unit_cases.function_table import CALLS
from tests.conformance.unit_cases.values import Adapter, Recording, Unmapped, decode


def unit_differences(case: Case) -> list[str]:
    """Return the differences from the expected results. Raises Unmapped if a call has no counterpart."""
    if case.kind == "fair_share":
        _require([case.data["function"]], FAIR_SHARE_FUNCTIONS)
        return fair_share_differences(case.data)
    calls = CALLS.get(case.kind, {})
    _require([step["call"] for step in case.data["steps"]], calls)
    recording = _run(case.data, calls)
    return [
        f"{wanted['actual']}: expected {wanted['matcher']} {wanted['expected']}, got {actual}"
        for wanted in case.data["expect"]
        for actual in recording.actual_values(wanted["actual"])
        if not matches(wanted["matcher"], actual, decode(wanted["expected"], recording))
    ]


def _run(data: Json, calls: Mapping[str, Adapter]) -> Recording:
    recording = Recording()
    for step in data["steps"]:
        arguments: list[Any] = [decode(argument, recording) for argument in step["args"]]
        receiver = decode(step.get("receiver"), recording)
        results = calls[step["call"]](receiver, *arguments)
        recording.add(step["step"], results, receiver, dict(zip(step["arg_names"], arguments, strict=True)))
    return recording


def _require(calls: list[str], known: Collection[str]) -> None:
    if unknown := sorted({call for call in calls if call not in known}):
        raise Unmapped(*unknown)
