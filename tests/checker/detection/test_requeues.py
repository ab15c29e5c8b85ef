"""The checker reports requeues that are too early, have no contender, or contradict their nomination."""

import pytest
from tenure.v1 import decision_pb2

from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    drop_decisions,
    find,
    find_decision,
    rows,
    set_fields,
)

REQUEUE = 1
LATER_S = sound_response.NOW_S + 600


def with_requeue(snapshot: Snapshot, response: Response) -> None:
    """Requeue `old` for `new`: `old` ran for two hours with an expected runtime of one.

    The response stays sound.
    """
    group = find(snapshot, "pod_groups", "old")
    group.expected_runtime.FromSeconds(3_600)
    group.last_start_time.FromSeconds(sound_response.NOW_S - 7_200)
    response.groups[REQUEUE].action = "requeue"
    shared_fields = {"pod_group": "old", "contender": "new", "nominated_by": ["expectedruntime"]}
    note = decision_pb2.Requeue(**shared_fields, not_before={"seconds": LATER_S})
    cooldown = sound_response.patch("old", "requeue_not_before")
    cooldown.id = "cooldown-old"
    cooldown.patch.requeue_not_before.FromSeconds(LATER_S)
    response.groups[REQUEUE].decisions.extend(
        [decision_pb2.Decision(id="requeue-old", requeue=note), cooldown]
    )
    response.nominations.add(
        **shared_fields,
        result=decision_pb2.NOMINATION_RESULT_REQUEUED,
        not_before={"seconds": LATER_S},
        reason=decision_pb2.Reason(message="because"),
    )


def _and(breaks: Break) -> Break:
    return lambda s, r: (with_requeue(s, r), breaks(s, r))


def _store_start(response: Response) -> decision_pb2.Requeue:
    return find_decision(response, "requeue-old").requeue


def _with_expected_runtime(
    seconds: int | None, annotation: str | None = None, queue_s: int | None = None
) -> Break:
    """Set the expected runtime of `old` by its field, its annotation or the queue `org`."""

    def breaks(snapshot: Snapshot, response: Response) -> None:
        group = find(snapshot, "pod_groups", "old")
        group.ClearField("expected_runtime")
        if seconds is not None:
            group.expected_runtime.FromSeconds(seconds)
        if annotation is not None:
            group.annotations["kai.scheduler/expected-runtime"] = annotation
        if queue_s is not None:
            find(snapshot, "queues", "org").expected_runtime.FromSeconds(queue_s)

    return breaks


def _nomination(**fields: object) -> Break:
    return lambda s, r: r.nominations[0].MergeFrom(decision_pb2.Nomination(**fields))


EARLY = "requeue: old is not beyond its expected runtime"
DIFFERENT = "nomination: those that are requeued are not those of the requeue steps"
REQUEUES: Table = {
    "nobody says that it is requeued": (
        lambda s, r: drop_decisions(r, "requeue-old"),
        "requeue: old loses pods to new, and nobody says that it is requeued",
    ),
    "somebody else is requeued": (
        lambda s, r: set_fields(_store_start(r), pod_group="stretch"),
        "requeue: stretch is requeued for new, which takes no pod of it",
    ),
    "for somebody else": (
        lambda s, r: set_fields(_store_start(r), contender="small"),
        "requeue: old is requeued for small, which takes no pod of it",
    ),
    "another action took its pods": (
        lambda s, r: set_fields(r.groups[REQUEUE], action="reclaim"),
        "requeue: old is requeued for new, which takes no pod of it",
    ),
    "nominated by nobody": (
        lambda s, r: _store_start(r).ClearField("nominated_by"),
        "requeue: old was nominated by nobody",
    ),
    "a cooldown that is over": (
        lambda s, r: _store_start(r).not_before.FromSeconds(sound_response.NOW_S - 1),
        "requeue: old may be requeued again before this requeue",
    ),
    "in its cooldown": (
        lambda s, r: find(s, "pod_groups", "old").requeue_not_before.FromSeconds(sound_response.NOW_S + 1),
        "requeue: old was to be left alone for longer",
    ),
    "a cooldown that is stored otherwise": (
        lambda s, r: _store_start(r).not_before.FromSeconds(LATER_S + 1),
        "patch: requeue_not_before of pod group old is ",
    ),
    "a second too early": (_with_expected_runtime(7_201), EARLY),
    "no time is expected": (_with_expected_runtime(0), EARLY),
    "nobody expects anything": (_with_expected_runtime(None), EARLY),
    "an annotation that cannot be read": (_with_expected_runtime(None, "soon", 60), EARLY),
    "too early by its annotation": (_with_expected_runtime(None, "2h1s", 60), EARLY),
    "too early by its department": (_with_expected_runtime(None, None, 7_201), EARLY),
    "nobody knows since when it runs": (
        lambda s, r: find(s, "pod_groups", "old").ClearField("last_start_time"),
        EARLY,
    ),
}
NOMINATIONS: Table = {
    "missing": (lambda s, r: r.ClearField("nominations"), DIFFERENT),
    "another result": (_nomination(result=decision_pb2.NOMINATION_RESULT_NO_BENEFIT), DIFFERENT),
    "another contender": (_nomination(contender="small"), DIFFERENT),
    "another end of the cooldown": (_nomination(not_before={"seconds": LATER_S + 1}), DIFFERENT),
    "another nominator": (_nomination(nominated_by=["other"]), DIFFERENT),
    "twice": (lambda s, r: r.nominations.append(r.nominations[0]), "are not in order, each once"),
    "of nobody": (_nomination(pod_group="x"), "nomination: x is not in the snapshot"),
    "without a result": (
        lambda s, r: r.nominations.add(pod_group="stretch", reason={"message": "because"}),
        "nomination: stretch has no result",
    ),
    "skipped for no reason": (
        _nomination(result=decision_pb2.NOMINATION_RESULT_SKIPPED),
        "nomination: old is skipped without a reason",
    ),
    "without a sentence": (
        lambda s, r: r.nominations[0].ClearField("reason"),
        "nomination: old gives no reason",
    ),
}
HARMLESS: dict[str, Break] = {
    "the whole of it": lambda s, r: None,
    "at the very end of its time": _with_expected_runtime(7_200),
    "by its annotation": _with_expected_runtime(None, "1h59m60s", 9_999),
    "by its department": _with_expected_runtime(None, None, 60),
    "its field outweighs its annotation": _with_expected_runtime(60, "9d", None),
    "at the very end of its cooldown": lambda s, r: find(
        s, "pod_groups", "old"
    ).requeue_not_before.FromSeconds(sound_response.NOW_S),
    "somebody else is skipped": lambda s, r: r.nominations.add(
        pod_group="stretch",
        result=decision_pb2.NOMINATION_RESULT_SKIPPED,
        skip_reason=decision_pb2.NOMINATION_SKIP_REASON_COOLDOWN,
        reason={"message": "because"},
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(REQUEUES))
def test_requeue_before_the_expected_runtime_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(_and(breaks), violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(NOMINATIONS))
def test_contradicting_nomination_and_requeue_are_reported(breaks: Break, violation: str) -> None:
    assert_reported(_and(breaks), violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_a_requeue_in_time_is_not_reported(changes: Break) -> None:
    assert_harmless(_and(changes))
