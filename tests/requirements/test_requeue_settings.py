"""Settings of requeue, decided by a server: fields, annotations, queues, and conditions of a nomination."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from tenure.v1.decide_pb2 import DecideResponse, WarningCode
from tenure.v1.snapshot_pb2 import (
    POD_STATUS_PENDING,
    POD_STATUS_RELEASING,
    PREEMPTIBILITY_NON_PREEMPTIBLE,
)

from tests.requirements.answers import decisions, evicted, nomination, result
from tests.requirements.cluster import NOW, ClusterText, ago
from tests.requirements.conftest import Decide
from tests.requirements.profiles import configuration
from tests.requirements.requeue_clusters import (
    CONTENDER,
    EXPECTED,
    NOT_BEFORE,
    annotated,
    contended,
    two_queues,
)


def warnings(answer: DecideResponse) -> list[str]:
    """Names of the warnings about workloads: the quotas of the cluster are more than it has."""
    names = [WarningCode.Name(each.code).removeprefix("WARNING_CODE_") for each in answer.warnings]
    return [name for name in names if name != "QUOTAS_ABOVE_CLUSTER"]


DELAYS: Final = {
    "its own field": ({"requeue_delay": "7m"}, {"requeue_delay": "5m"}, 420),
    "its queue": ({}, {"requeue_delay": "5m"}, 300),
    "the profile": ({}, {}, 180),
    "an explicit zero": ({"requeue_delay": "0s"}, {"requeue_delay": "5m"}, 0),
}


@pytest.mark.parametrize(("job", "queue", "delay"), DELAYS.values(), ids=DELAYS)
def test_delay_is_its_own_or_that_of_the_queue_or_of_the_profile(
    job: dict[str, Any], queue: dict[str, Any], delay: int, decide: Decide
) -> None:
    file = configuration(options={"defaultRequeueDelay": "3m"})
    answer = decide(contended(values=queue, **job), file)
    found = nomination(answer, "old")
    assert found is not None
    assert (result(answer), found.not_before.seconds) == ("REQUEUED", NOW + delay)


def test_delay_is_zero_unless_somebody_sets_one(decide: Decide) -> None:
    found = nomination(decide(contended()), "old")
    assert found is not None
    assert found.not_before.seconds == NOW


def _change(field: str, value: object) -> Callable[[ClusterText], object]:
    return lambda cluster: setattr(cluster.group("old"), field, value)


def _end_pods(cluster: ClusterText) -> None:
    cluster.snapshot.pods[0].status, cluster.snapshot.pods[0].node = POD_STATUS_PENDING, ""


def _terminate_pods(cluster: ClusterText) -> None:
    cluster.snapshot.pods[0].status = POD_STATUS_RELEASING


def _set_legacy_priority(cluster: ClusterText) -> None:
    """Non-preemptible by its priority alone."""
    cluster.group("old").priority = 100
    cluster.group("old").ClearField("preemptibility")


CONDITIONS: Final[dict[str, tuple[Callable[[ClusterText], object], str]]] = {
    "all hold": (lambda cluster: None, "REQUEUED"),
    "no active pod": (_end_pods, "not_running"),
    "only terminating pods": (_terminate_pods, "not_running"),
    "not preemptible": (_change("preemptibility", PREEMPTIBILITY_NON_PREEMPTIBLE), "not_preemptible"),
    "not preemptible by its priority": (_set_legacy_priority, "not_preemptible"),
    "no expected runtime": (lambda cluster: cluster.group("old").ClearField("expected_runtime"), ""),
    "no positive expected runtime": (
        lambda cluster: cluster.group("old").expected_runtime.FromSeconds(0),
        "invalid_duration",
    ),
    "no start time": (lambda cluster: cluster.group("old").ClearField("last_start_time"), "missing_start"),
    "a start in the future": (
        lambda cluster: cluster.group("old").last_start_time.FromSeconds(NOW + 5),
        "clock_skew",
    ),
    "not long enough": (lambda cluster: cluster.group("old").last_start_time.CopyFrom(ago("29m")), "NOT_DUE"),
    "a cooldown": (lambda cluster: cluster.group("old").requeue_not_before.FromSeconds(NOW + 1), "cooldown"),
    "a cooldown that cannot be read": (
        lambda cluster: cluster.group("old").annotations.update({NOT_BEFORE: "soon"}),
        "invalid_not_before",
    ),
}


@pytest.mark.parametrize(("change", "found"), CONDITIONS.values(), ids=CONDITIONS)
def test_one_condition_that_does_not_hold_is_enough(
    change: Callable[[ClusterText], object], found: str, decide: Decide
) -> None:
    cluster = contended()
    change(cluster)
    answer = decide(cluster, "", "requeue")
    assert (result(answer), bool(evicted(answer))) == (found, found == "REQUEUED")


READ: Final = {"30m": 1_800, "2h": 7_200, "1h30m": 5_400, "1d": 86_400, "1d12h": 129_600, " 2h\n": 7_200}


@pytest.mark.parametrize(("text", "length"), READ.items(), ids=READ)
def test_annotation_of_the_expected_runtime_is_a_duration(text: str, length: int, decide: Decide) -> None:
    answer = decide(annotated(expected=text))
    found = nomination(answer, "old")
    assert found is not None
    assert (result(answer), found.overrun.seconds) == ("REQUEUED", 2 * 86_400 - length)


@pytest.mark.parametrize("text", ["", "3600", "-1h", "0s", "1y", "an hour"])
def test_expected_runtime_that_is_none_never_elapses(text: str, decide: Decide) -> None:
    answer = decide(annotated(expected=text))
    assert (result(answer), evicted(answer)) == ("invalid_duration", [])
    assert warnings(answer) == ["INVALID_EXPECTED_RUNTIME"]


def test_pod_group_without_expected_runtime_takes_no_part(decide: Decide) -> None:
    answer = decide(annotated())
    assert (result(answer), evicted(answer), warnings(answer)) == ("", [], [])


@pytest.mark.parametrize(("text", "delay"), [("1h", 3_600), ("2d", 172_800), ("0s", 0)])
def test_annotation_of_the_delay_precedes_the_queue(text: str, delay: int, decide: Decide) -> None:
    found = nomination(decide(annotated(expected="1h", delay=text)), "old")
    assert found is not None
    assert found.not_before.seconds == NOW + delay


def test_delay_that_cannot_be_read_is_unset(decide: Decide) -> None:
    answer = decide(annotated(expected="1h", delay="later"))
    found = nomination(answer, "old")
    assert found is not None
    assert (found.not_before.seconds, warnings(answer)) == (NOW + 600, ["INVALID_REQUEUE_DELAY"])


TIMES: Final = {
    "2023-11-14T22:13:21Z": "cooldown",
    "2023-11-14T22:13:20Z": "REQUEUED",
    "2023-11-14T23:13:21+01:00": "cooldown",
    "2023-11-14T23:13:20+01:00": "REQUEUED",
    "tomorrow": "invalid_not_before",
}


@pytest.mark.parametrize(("text", "found"), TIMES.items(), ids=TIMES)
def test_annotation_of_not_before_is_an_rfc_3339_time(text: str, found: str, decide: Decide) -> None:
    assert result(decide(annotated(expected="1h", not_before=text))) == found


FIELDS: Final = {
    "a field that is over": ({"expected_runtime": "1h"}, "1000d", "REQUEUED"),
    "a field that is not over": ({"expected_runtime": "3d"}, "1h", "NOT_DUE"),
    "a field, and an annotation that cannot be read": ({"expected_runtime": "1h"}, "soon", "REQUEUED"),
}


@pytest.mark.parametrize(("fields", "annotation", "found"), FIELDS.values(), ids=FIELDS)
def test_field_precedes_the_annotation(
    fields: dict[str, Any], annotation: str, found: str, decide: Decide
) -> None:
    cluster = two_queues().runs(
        "old", "a", ran="2d", mode="PREEMPTIBLE", annotations={EXPECTED: annotation}, **fields
    )
    assert result(decide(cluster.waits("new", "b", **CONTENDER))) == found


INHERITED: Final = {
    "its queue's, for who has none": ({}, {"expected_runtime": "30m"}, {}, "REQUEUED"),
    "its own first": ({}, {"expected_runtime": "30m"}, {"expected_runtime": "2h"}, "NOT_DUE"),
    "the parent's": ({"expected_runtime": "30m"}, {}, {}, "REQUEUED"),
    "the nearest": ({"expected_runtime": "30m"}, {"expected_runtime": "2h"}, {}, "NOT_DUE"),
    "an explicit zero ends it": ({"expected_runtime": "30m"}, {"expected_runtime": "0s"}, {}, ""),
}


@pytest.mark.parametrize(("parent", "leaf", "job", "found"), INHERITED.values(), ids=INHERITED)
def test_queues_have_defaults(
    parent: dict[str, Any], leaf: dict[str, Any], job: dict[str, Any], found: str, decide: Decide
) -> None:
    cluster = ClusterText().node().queue("b", quota=1)
    cluster.snapshot.queues[0].priority = 200
    cluster.queue("top", quota=1, **parent).queue("a", "top", quota=1, **leaf)
    cluster.runs("old", "a", mode="PREEMPTIBLE", **job).waits("new", "b", **CONTENDER)
    assert result(decide(cluster)) == found


EXAMPLES: Final = {
    "four hours, a second before": ({"expected": "4h"}, "3h59m59s", 75, "NOT_DUE"),
    "four hours, and nobody of higher priority": ({"expected": "4h"}, "4h", 50, "NO_CONTENDER"),
    "four hours, for a higher priority": ({"expected": "4h"}, "4h", 75, "REQUEUED"),
    "eight hours with a delay of 30 minutes": ({"expected": "8h", "delay": "30m"}, "8h", 75, "REQUEUED"),
    "within the 30 minutes": (
        {"expected": "8h", "delay": "30m", "not_before": "2023-11-14T22:13:21Z"},
        "9h",
        75,
        "cooldown",
    ),
}


@pytest.mark.parametrize(("annotations", "ran", "priority", "found"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_of_the_proposal(
    annotations: dict[str, Any], ran: str, priority: int, found: str, decide: Decide
) -> None:
    cluster = annotated(**annotations)
    cluster.group("old").last_start_time.CopyFrom(ago(ran))
    cluster.group("new").priority = priority
    answer = decide(cluster)
    assert result(answer) == found
    if found == "REQUEUED":
        (requeue,) = [each.requeue for each in decisions(answer) if each.HasField("requeue")]
        assert requeue.not_before.seconds == NOW + (1_800 if "delay" in annotations else 600)
