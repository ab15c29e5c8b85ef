"""Requeues that come too early, for nobody, or that are told in two ways are reported."""

import pytest
from tenure.v1 import decision_pb2

from tests.verify import sound
from tests.verify.breaking import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    change,
    drop,
    find,
    rows,
    step,
)

REQUEUE = 1
LATER_S = sound.NOW_S + 600


def requeued(snapshot: Snapshot, response: Response) -> None:
    """`old` ran for two hours of the one that was expected, and is requeued for `new`: sound as it is."""
    group = find(snapshot, "pod_groups", "old")
    group.expected_runtime.FromSeconds(3_600)
    group.last_start_time.FromSeconds(sound.NOW_S - 7_200)
    response.groups[REQUEUE].action = "requeue"
    told = {"pod_group": "old", "contender": "new", "nominated_by": ["expectedruntime"]}
    note = decision_pb2.Requeue(**told, not_before={"seconds": LATER_S})
    cooldown = sound.patch("old", "requeue_not_before")
    cooldown.id = "cooldown-old"
    cooldown.patch.requeue_not_before.FromSeconds(LATER_S)
    response.groups[REQUEUE].decisions.extend(
        [decision_pb2.Decision(id="requeue-old", requeue=note), cooldown]
    )
    response.nominations.add(
        **told,
        result=decision_pb2.NOMINATION_RESULT_REQUEUED,
        not_before={"seconds": LATER_S},
        reason=decision_pb2.Reason(message="because"),
    )


def _and(breaks: Break) -> Break:
    return lambda s, r: (requeued(s, r), breaks(s, r))


def _note(response: Response) -> decision_pb2.Requeue:
    return step(response, "requeue-old").requeue


def _expects(seconds: int | None, annotation: str | None = None, queue_s: int | None = None) -> Break:
    """What is said about the expected runtime of `old`: by itself, by its annotation, by its department."""

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


def _told(**fields: object) -> Break:
    return lambda s, r: r.nominations[0].MergeFrom(decision_pb2.Nomination(**fields))


EARLY = "requeue: old is not beyond its expected runtime"
DIFFERENT = "nomination: those that are requeued are not those of the requeue steps"
REQUEUES: Table = {
    "nobody says that it is requeued": (
        lambda s, r: drop(r, "requeue-old"),
        "requeue: old loses pods to new, and nobody says that it is requeued",
    ),
    "somebody else is requeued": (
        lambda s, r: change(_note(r), pod_group="stretch"),
        "requeue: stretch is requeued for new, which takes no pod of it",
    ),
    "for somebody else": (
        lambda s, r: change(_note(r), contender="small"),
        "requeue: old is requeued for small, which takes no pod of it",
    ),
    "another action took its pods": (
        lambda s, r: change(r.groups[REQUEUE], action="reclaim"),
        "requeue: old is requeued for new, which takes no pod of it",
    ),
    "nominated by nobody": (
        lambda s, r: _note(r).ClearField("nominated_by"),
        "requeue: old was nominated by nobody",
    ),
    "a cooldown that is over": (
        lambda s, r: _note(r).not_before.FromSeconds(sound.NOW_S - 1),
        "requeue: old may be requeued again before this requeue",
    ),
    "in its cooldown": (
        lambda s, r: find(s, "pod_groups", "old").requeue_not_before.FromSeconds(sound.NOW_S + 1),
        "requeue: old was to be left alone for longer",
    ),
    "a cooldown that is stored otherwise": (
        lambda s, r: _note(r).not_before.FromSeconds(LATER_S + 1),
        "patch: requeue_not_before of pod group old is ",
    ),
    "a second too early": (_expects(7_201), EARLY),
    "no time is expected": (_expects(0), EARLY),
    "nobody expects anything": (_expects(None), EARLY),
    "an annotation that cannot be read": (_expects(None, "soon", 60), EARLY),
    "too early by its annotation": (_expects(None, "2h1s", 60), EARLY),
    "too early by its department": (_expects(None, None, 7_201), EARLY),
    "nobody knows since when it runs": (
        lambda s, r: find(s, "pod_groups", "old").ClearField("last_start_time"),
        EARLY,
    ),
}
NOMINATIONS: Table = {
    "missing": (lambda s, r: r.ClearField("nominations"), DIFFERENT),
    "another result": (_told(result=decision_pb2.NOMINATION_RESULT_NO_BENEFIT), DIFFERENT),
    "another contender": (_told(contender="small"), DIFFERENT),
    "another end of the cooldown": (_told(not_before={"seconds": LATER_S + 1}), DIFFERENT),
    "another nominator": (_told(nominated_by=["other"]), DIFFERENT),
    "twice": (lambda s, r: r.nominations.append(r.nominations[0]), "are not in order, each once"),
    "of nobody": (_told(pod_group="x"), "nomination: x is not in the snapshot"),
    "without a result": (
        lambda s, r: r.nominations.add(pod_group="stretch", reason={"message": "because"}),
        "nomination: stretch has no result",
    ),
    "skipped for no reason": (
        _told(result=decision_pb2.NOMINATION_RESULT_SKIPPED),
        "nomination: old is skipped without a reason",
    ),
    "without a sentence": (
        lambda s, r: r.nominations[0].ClearField("reason"),
        "nomination: old gives no reason",
    ),
}
HARMLESS: dict[str, Break] = {
    "the whole of it": lambda s, r: None,
    "at the very end of its time": _expects(7_200),
    "by its annotation": _expects(None, "1h59m60s", 9_999),
    "by its department": _expects(None, None, 60),
    "its field outweighs its annotation": _expects(60, "9d", None),
    "at the very end of its cooldown": lambda s, r: find(
        s, "pod_groups", "old"
    ).requeue_not_before.FromSeconds(sound.NOW_S),
    "somebody else is skipped": lambda s, r: r.nominations.add(
        pod_group="stretch",
        result=decision_pb2.NOMINATION_RESULT_SKIPPED,
        skip_reason=decision_pb2.NOMINATION_SKIP_REASON_COOLDOWN,
        reason={"message": "because"},
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(REQUEUES))
def test_only_who_ran_longer_than_expected_is_requeued(breaks: Break, violation: str) -> None:
    assert_reported(_and(breaks), violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(NOMINATIONS))
def test_nominations_and_requeues_say_the_same(breaks: Break, violation: str) -> None:
    assert_reported(_and(breaks), violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_a_requeue_in_time_is_not_reported(changes: Break) -> None:
    assert_harmless(_and(changes))
