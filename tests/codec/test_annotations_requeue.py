"""Annotations for expected runtime and requeue: fields override them, invalid values protect (R12.1)."""

from typing import Final

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import Nomination, NominationResult, NominationSkipReason

from tests.codec.snapshots.contested_snapshot import (
    NOW_S,
    RAN_S,
    contested_snapshot,
    decide,
    evicted_pods,
    warnings_of,
)

EXPECTED: Final = "kai.scheduler/expected-runtime"
DELAY: Final = "kai.scheduler/requeue-delay"
NOT_BEFORE: Final = "kai.scheduler/requeue-not-before"
HOUR, DAY = 3600, 86_400
BOTH = {"runs-0", "runs-1"}


def annotated(
    *, expected: str | None = "1d", delay: str | None = None, not_before: str | None = None
) -> pb.ClusterSnapshot:
    """`runs` with these annotations. The requeue delay of its queue is ten minutes."""
    snapshot = contested_snapshot()
    snapshot.queues[1].requeue_delay.seconds = 600
    for key, text in ((EXPECTED, expected), (DELAY, delay), (NOT_BEFORE, not_before)):
        if text is not None:
            snapshot.pod_groups[0].annotations[key] = text
    return snapshot


def nomination(answer: DecideResponse) -> Nomination:
    (found,) = answer.nominations
    assert found.pod_group == "runs"
    return found


def nomination_result(answer: DecideResponse) -> tuple[str, str]:
    """Nomination result of `runs`, and the reason it was skipped."""
    found = nomination(answer)
    result = NominationResult.Name(found.result).removeprefix("NOMINATION_RESULT_")
    return result, NominationSkipReason.Name(found.skip_reason).removeprefix("NOMINATION_SKIP_REASON_")


RUNTIMES = {
    "30m": 30 * 60,
    "1d": DAY,
    "1d12h": 36 * HOUR,
    "1w2d": 9 * DAY,
    "1h30m": 90 * 60,
    "1.5h": 90 * 60,
    "90s": 90,
    " 2h\n": 2 * HOUR,
    ".5h": HOUR // 2,
    "+1h": HOUR,
    "1.h": HOUR,
    "1000000\u00b5s": 1,
    "1000000\u03bcs": 1,
}


@pytest.mark.parametrize(("text", "seconds"), RUNTIMES.items(), ids=RUNTIMES)
def test_an_expected_runtime_is_read_with_days_and_weeks_r12_7(text: str, seconds: int) -> None:
    answer = decide(annotated(expected=text))
    assert nomination_result(answer) == ("REQUEUED", "UNSPECIFIED")
    assert nomination(answer).overrun.seconds == RAN_S - seconds
    assert (evicted_pods(answer), warnings_of(answer)) == (BOTH, [])


NO_DURATIONS = ["", " ", "3600", "-1h", "1 h", "1y", "PT1H", "an hour", "1h30", "36501d", f"{'9' * 5000}h"]


@pytest.mark.parametrize("text", [*NO_DURATIONS, "0", "0s"], ids=lambda text: text[:10])
def test_invalid_expected_runtime_never_elapses_and_is_a_warning(text: str) -> None:
    answer = decide(annotated(expected=text))
    assert nomination_result(answer) == ("SKIPPED", "INVALID_DURATION")
    assert (evicted_pods(answer), warnings_of(answer)) == (set(), [("INVALID_EXPECTED_RUNTIME", 1, ["runs"])])
    assert answer.warnings[0].message.startswith("pod group runs: ")
    assert len(answer.warnings[0].message) < 300


def test_pod_group_without_expected_runtime_is_not_nominated() -> None:
    snapshot = annotated(expected=None)
    snapshot.pod_groups[0].annotations["team"] = "maybe"
    answer = decide(snapshot)
    assert (list(answer.nominations), warnings_of(answer), evicted_pods(answer)) == ([], [], set())


FIELDS = {
    "a runtime that is over": (2 * HOUR, "REQUEUED", []),
    "a runtime that is not over": (RAN_S + 1, "NOT_DUE", []),
    "no time at all": (0, "SKIPPED", [("INVALID_EXPECTED_RUNTIME", 1, ["runs"])]),
    "a negative one": (-1, "SKIPPED", [("INVALID_EXPECTED_RUNTIME", 1, ["runs"])]),
}


@pytest.mark.parametrize("text", ["1h", "1000d", "garbage"])
@pytest.mark.parametrize(("seconds", "result", "warnings"), FIELDS.values(), ids=FIELDS)
def test_field_overrides_the_annotation(
    seconds: int, result: str, warnings: list[tuple[str, int, list[str]]], text: str
) -> None:
    snapshot = annotated(expected=text)
    snapshot.pod_groups[0].expected_runtime.CopyFrom(Duration(seconds=seconds))
    answer = decide(snapshot)
    assert (nomination_result(answer)[0], warnings_of(answer)) == (result, warnings)


DELAYS: dict[str, tuple[str | None, int | None, int]] = {
    "nothing: the queue's ten minutes": (None, None, 600),
    "an hour": ("1h", None, HOUR),
    "days": ("2d", None, 2 * DAY),
    "none": ("0", None, 0),
    "none, with a unit": ("0s", None, 0),
    "the field wins": ("1h", 7, 7),
    "the field wins over what cannot be read": ("soon", 7, 7),
    "the field wins with a zero": ("1h", 0, 0),
}


def requeue_until(text: str | None, seconds: int | None) -> DecideResponse:
    snapshot = annotated(delay=text)
    if seconds is not None:
        snapshot.pod_groups[0].requeue_delay.CopyFrom(Duration(seconds=seconds))
    return decide(snapshot)


@pytest.mark.parametrize(("text", "field", "expected"), DELAYS.values(), ids=DELAYS)
def test_requeue_delay_counts_from_the_requeue(text: str | None, field: int | None, expected: int) -> None:
    answer = requeue_until(text, field)
    assert nomination_result(answer)[0] == "REQUEUED"
    assert (nomination(answer).not_before.seconds - NOW_S, warnings_of(answer)) == (expected, [])


@pytest.mark.parametrize(
    ("text", "field"),
    [*((text, None) for text in NO_DURATIONS), ("1h", -1), (None, -1)],
    ids=lambda value: str(value)[:10],
)
def test_invalid_requeue_delay_is_unset_with_a_warning_r12_44(text: str | None, field: int | None) -> None:
    answer = requeue_until(text, field)
    assert nomination(answer).not_before.seconds - NOW_S == 600
    assert warnings_of(answer) == [("INVALID_REQUEUE_DELAY", 1, ["runs"])]


TIMES = {
    "R12.3 now: it is over": ("2023-11-14T22:13:20Z", True),
    "a second later": ("2023-11-14T22:13:21Z", False),
    "a nanosecond later": ("2023-11-14T22:13:20.000000001Z", False),
    "a fraction before": ("2023-11-14T22:13:19.999Z", True),
    "east of here, now": ("2023-11-14T23:13:20+01:00", True),
    "east of here, later": ("2023-11-14T23:13:21+01:00", False),
    "west of here, later, with a fraction": ("2023-11-14T18:43:20.5-03:30", False),
    "with spaces around": (" 2023-11-14T22:13:21Z\n", False),
    "long gone": ("1970-01-01T00:00:00Z", True),
    "far away": ("9999-12-31T23:59:59Z", False),
}


@pytest.mark.parametrize(("text", "is_over"), TIMES.values(), ids=TIMES)
def test_pod_group_is_not_requeued_before_requeue_not_before(text: str, is_over: bool) -> None:
    answer = decide(annotated(not_before=text))
    assert nomination_result(answer) == (("REQUEUED", "UNSPECIFIED") if is_over else ("SKIPPED", "COOLDOWN"))
    assert (evicted_pods(answer), warnings_of(answer)) == (BOTH if is_over else set(), [])


NO_TIMES = [
    "",
    "soon",
    "1h",
    "1699999999",
    "2023-11-14",
    "2023-11-14T22:13:20",
    "2023-11-14 22:13:20Z",
    "2023-11-14t22:13:20z",
    "2023-11-14T22:13Z",
    "2023-1-4T2:3:4Z",
    "2023-11-31T22:13:20Z",
    "2023-11-14T24:00:00Z",
    "2023-11-14T22:13:60Z",
    "2023-11-14T22:13:20.1234567891Z",
    "2023-11-14T22:13:20+25:00",
    "2023-11-14T22:13:20+0100",
    "Tue, 14 Nov 2023 22:13:20 GMT",
    "x" * 5000,
]


@pytest.mark.parametrize("text", NO_TIMES, ids=lambda text: text[:30])
def test_invalid_requeue_not_before_prevents_a_requeue_r12_61(text: str) -> None:
    answer = decide(annotated(not_before=text))
    assert nomination_result(answer) == ("SKIPPED", "INVALID_NOT_BEFORE")
    assert (evicted_pods(answer), warnings_of(answer)) == (
        set(),
        [("INVALID_REQUEUE_NOT_BEFORE", 1, ["runs"])],
    )
    assert "write it like 2025-01-15T10:30:00Z" in answer.warnings[0].message
    assert len(answer.warnings[0].message) < 300


@pytest.mark.parametrize("text", ["2023-11-14T22:13:19Z", "2100-01-01T00:00:00Z", "garbage"])
@pytest.mark.parametrize(("later_s", "result"), [(0, "REQUEUED"), (1, "SKIPPED")])
def test_requeue_not_before_field_overrides_the_annotation(text: str, later_s: int, result: str) -> None:
    snapshot = annotated(not_before=text)
    snapshot.pod_groups[0].requeue_not_before.seconds = NOW_S + later_s
    answer = decide(snapshot)
    assert (nomination_result(answer)[0], warnings_of(answer)) == (result, [])


def test_every_invalid_value_has_its_own_warning_in_a_fixed_order() -> None:
    bad = annotated(expected="no", delay="no", not_before="no")
    assert [code for code, _, _ in warnings_of(decide(bad))] == [
        "INVALID_EXPECTED_RUNTIME",
        "INVALID_REQUEUE_DELAY",
        "INVALID_REQUEUE_NOT_BEFORE",
    ]
