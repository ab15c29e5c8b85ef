"""Responses to evictions, the limits of disruption budgets, and the changes that evictions make."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace

_X = {"app": "x"}


class Case(NamedTuple):
    prepare: Callable[[ClientNamespace], object]
    status: int
    message: str = ""
    preconditions: dict[str, Any] = {}
    retry_after: str | None = None
    cause: str = ""


def _guarded(
    allowed: int | None, phase: str = "Running", *, ready: bool = True, healthy: int = 2
) -> Callable[[ClientNamespace], object]:
    """A pod with a budget. None: without a status of the controller."""

    def prepare(place: ClientNamespace) -> None:
        place.budget(allowed=allowed, healthy=healthy)
        place.running(phase=phase, ready=ready, labels=_X)

    return prepare


def _guarded_twice(place: ClientNamespace) -> None:
    for name in ("b1", "b2"):
        place.budget(name, allowed=1)
    place.running(labels=_X)


def _pending_pod(place: ClientNamespace) -> None:
    place.budget(allowed=0)
    place.pod(labels=_X)


def _terminating_pod(place: ClientNamespace) -> None:
    place.running(labels=_X)
    place.evict()
    place.budget(allowed=0)


BUDGET = "would violate the pod's disruption budget"
CASES = {
    "a pod that runs": Case(ClientNamespace.running, 201),
    "another uid": Case(ClientNamespace.running, 409, "UID in the precondition", {"uid": "another"}),
    "an older version": Case(
        ClientNamespace.running, 409, "ResourceVersion in the precondition", {"resourceVersion": "1"}
    ),
    "gone: it is done": Case(lambda place: None, 404, 'pods "a" not found'),
    "a budget allows it": Case(_guarded(1), 201),
    "a budget forbids it": Case(_guarded(0), 429, BUDGET, cause="DisruptionBudget"),
    "nobody has counted the pods of the budget yet": Case(
        _guarded(None), 429, BUDGET, retry_after="10", cause="DisruptionBudget"
    ),
    "two budgets: never": Case(_guarded_twice, 500, "more than one PodDisruptionBudget"),
    "not running yet: no budget protects it": Case(_guarded(0, "Pending"), 201),
    "not even bound": Case(_pending_pod, 201),
    "succeeded": Case(_guarded(0, "Succeeded"), 201),
    "failed": Case(_guarded(0, "Failed"), 201),
    "evicted before: it is harmless": Case(_terminating_pod, 201),
    "not ready, and enough others are": Case(_guarded(0, ready=False), 201),
    "not ready, and not enough others are": Case(_guarded(0, ready=False, healthy=0), 429, BUDGET),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_eviction_returns_the_expected_status(namespace: ClientNamespace, case: Case) -> None:
    case.prepare(namespace)
    came = namespace.evict(**case.preconditions)
    assert (came.status, case.message in came.message) == (case.status, True), came.body
    assert came.headers.get("Retry-After") == case.retry_after
    assert not case.cause or came.causes == [case.cause]


def test_evicted_pod_terminates_within_its_grace_period_with_a_condition(namespace: ClientNamespace) -> None:
    namespace.running()
    assert namespace.evict().body["kind"] == "Status"
    pod = namespace.find().body
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert pod["metadata"]["deletionTimestamp"] > pod["metadata"]["creationTimestamp"]
    (condition,) = (one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "EvictionByEvictionAPI")


def test_eviction_uses_one_disruption_of_the_budget(namespace: ClientNamespace) -> None:
    namespace.budget(allowed=1)
    namespace.running("a", labels=_X)
    namespace.running("b", labels=_X)
    assert namespace.evict("a").status == 201
    status = namespace.client.get(f"{namespace.budgets}/b").body["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["a"])
    assert namespace.evict("b").status == 429


def test_failed_precondition_uses_a_disruption_nevertheless(namespace: ClientNamespace) -> None:
    namespace.budget(allowed=1)
    namespace.running(labels=_X)
    assert namespace.evict(uid="another").status == 409
    assert namespace.client.get(f"{namespace.budgets}/b").body["status"]["disruptionsAllowed"] == 0


def test_a_dry_run_changes_nothing(namespace: ClientNamespace) -> None:
    namespace.budget(allowed=1)
    before = namespace.running(labels=_X)
    assert namespace.evict(dry=True).status == 201
    assert namespace.find().version == before["metadata"]["resourceVersion"]
    assert namespace.client.get(f"{namespace.budgets}/b").body["status"]["disruptionsAllowed"] == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "unbound"])
def test_pod_that_does_not_run_is_deleted_immediately(namespace: ClientNamespace, phase: str) -> None:
    namespace.pod() if phase == "unbound" else namespace.running(phase=phase)
    namespace.evict()
    assert namespace.find().status == 404
