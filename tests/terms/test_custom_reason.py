"""Reasons that plugins and actions of other packages declare: what is refused, and names in conditions."""

import re
from typing import Any

import pytest
from tenure.kubernetes.apply.conditions import camel
from tenure.terms.custom_reason import (
    MAX_CODE,
    MAX_DOMAIN,
    MAX_TEXT,
    CustomReason,
    DeclaredReasons,
    condition_name,
)
from tenure.terms.reasons import ReasonCode

CONDITION_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
"""What Kubernetes accepts, with at most 1,024 characters."""


def reason(code: str = "QueueKept", **changes: Any) -> CustomReason:
    return CustomReason(code, **{"clause": "it is kept", "public": "It is kept.", **changes})


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "code in snake case": ({"code": "queue_kept"}, "'queue_kept': code: use UpperCamelCase"),
    "empty code": ({"code": ""}, "code: use UpperCamelCase"),
    "long code": ({"code": "Q" * (MAX_CODE + 1)}, f"at most {MAX_CODE} letters and digits"),
    "code of other letters": ({"code": "Ärger"}, "code: use UpperCamelCase"),
    "empty clause": ({"clause": ""}, "clause: use a clause without final period"),
    "sentence as clause": ({"clause": "it is kept."}, "clause: use a clause without final period"),
    "long clause": (
        {"clause": "x" * (MAX_TEXT + 1)},
        f"clause: use one line of at most {MAX_TEXT} characters",
    ),
    "placeholder": ({"clause": "{queue} is kept"}, "without braces"),
    "control character": ({"public": "It is \x1b[1mkept."}, "public: use one line"),
    "clause as sentence": ({"public": "it is kept"}, "public: use a sentence that ends with a period"),
    "sentence as remedy": ({"remedy": "Wait."}, "remedy: use an imperative without final period"),
    "code of no rejection": (
        {"base": ReasonCode.IN_PROGRESS},
        "base: IN_PROGRESS is the reason of no rejection",
    ),
}


@pytest.mark.parametrize(("changes", "problem"), INVALID.values(), ids=INVALID)
def test_invalid_reason_is_an_error_with_the_fix(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        reason(**changes)


@pytest.mark.parametrize(
    ("domain", "code", "expected"),
    [
        ("keepqueues", "QueueKept", "KeepqueuesQueueKept"),
        ("keep-queues", "QueueKept", "KeepQueuesQueueKept"),
        ("example.com/keep", "QueueKept", "ExampleComKeepQueueKept"),
        ("keepqueues", "queue kept", ""),
        ("keepqueues", "Q" * (MAX_CODE + 1), ""),
        ("k" * (MAX_DOMAIN + 1), "QueueKept", ""),
    ],
)
def test_names_in_conditions_are_valid(domain: str, code: str, expected: str) -> None:
    found = condition_name(domain, code)
    assert found == expected
    assert not found or CONDITION_REASON.fullmatch(found)


@pytest.mark.parametrize("domain", ["1st", "-", "", "k" * (MAX_DOMAIN + 1)])
def test_reasons_need_a_name_that_conditions_can_begin_with(domain: str) -> None:
    with pytest.raises(ValueError, match="reasons need a name of at most 63 characters"):
        DeclaredReasons({domain: [reason()]})


def test_two_reasons_never_have_one_name_in_conditions() -> None:
    declared = DeclaredReasons({"keep-queues": [reason()]})
    with pytest.raises(ValueError, match="QueueKept is declared before"):
        declared.add("keepQueues", [reason()])
    with pytest.raises(ValueError, match="Capacity is declared before"):
        declared.add("no", [reason("Capacity")])
    assert camel(ReasonCode.NO_CAPACITY.name) == condition_name("no", "Capacity")


def test_only_declared_reasons_with_their_code_are_found() -> None:
    kept = reason()
    declared = DeclaredReasons({"keepqueues": [kept]})
    assert declared.find("keepqueues", ReasonCode.PROTECTED, reason()) is not None
    assert declared.find("keepqueues", ReasonCode.MIN_RUNTIME, kept) is None
    assert declared.find("other", ReasonCode.PROTECTED, kept) is None
    assert declared.find("keepqueues", ReasonCode.PROTECTED, reason(clause="old is kept")) is None
    assert declared.find("keepqueues", ReasonCode.PROTECTED, None) is None
