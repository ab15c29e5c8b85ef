"""What an eviction is answered with, what budgets forbid, and what it changes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.kube.contract.asking import Place

_X = {"app": "x"}


class Case(NamedTuple):
    prepare: Callable[[Place], object]
    status: int
    said: str = ""
    preconditions: dict[str, Any] = {}
    retry_after: str | None = None
    cause: str = ""


def _guarded(
    allowed: int | None, phase: str = "Running", *, ready: bool = True, healthy: int = 2
) -> Callable[[Place], object]:
    """A pod with a budget; None: nobody has counted yet."""

    def prepare(place: Place) -> None:
        place.budget(allowed=allowed, healthy=healthy)
        place.running(phase=phase, ready=ready, labels=_X)

    return prepare


def _guarded_twice(place: Place) -> None:
    for name in ("b1", "b2"):
        place.budget(name, allowed=1)
    place.running(labels=_X)


def _waiting(place: Place) -> None:
    place.budget(allowed=0)
    place.pod(labels=_X)


def _ending(place: Place) -> None:
    place.running(labels=_X)
    place.evict()
    place.budget(allowed=0)


BUDGET = "would violate the pod's disruption budget"
CASES = {
    "a pod that runs": Case(Place.running, 201),
    "another uid": Case(Place.running, 409, "UID in the precondition", {"uid": "another"}),
    "an older version": Case(
        Place.running, 409, "ResourceVersion in the precondition", {"resourceVersion": "1"}
    ),
    "gone: it is done": Case(lambda place: None, 404, 'pods "a" not found'),
    "a budget allows it": Case(_guarded(1), 201),
    "a budget forbids it": Case(_guarded(0), 429, BUDGET, cause="DisruptionBudget"),
    "nobody has counted the pods of the budget yet": Case(
        _guarded(None), 429, BUDGET, retry_after="10", cause="DisruptionBudget"
    ),
    "two budgets: never": Case(_guarded_twice, 500, "more than one PodDisruptionBudget"),
    "not running yet: no budget protects it": Case(_guarded(0, "Pending"), 201),
    "not even bound": Case(_waiting, 201),
    "succeeded": Case(_guarded(0, "Succeeded"), 201),
    "failed": Case(_guarded(0, "Failed"), 201),
    "evicted before: it is harmless": Case(_ending, 201),
    "not ready, and enough others are": Case(_guarded(0, ready=False), 201),
    "not ready, and not enough others are": Case(_guarded(0, ready=False, healthy=0), 429, BUDGET),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_eviction_is_answered(place: Place, case: Case) -> None:
    case.prepare(place)
    came = place.evict(**case.preconditions)
    assert (came.status, case.said in came.said) == (case.status, True), came.body
    assert came.headers.get("Retry-After") == case.retry_after
    assert not case.cause or came.causes == [case.cause]


def test_an_evicted_pod_ends_within_its_grace_period_and_says_why(place: Place) -> None:
    place.running()
    assert place.evict().body["kind"] == "Status"
    pod = place.find().body
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert pod["metadata"]["deletionTimestamp"] > pod["metadata"]["creationTimestamp"]
    (told,) = (one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert (told["status"], told["reason"]) == ("True", "EvictionByEvictionAPI")


def test_an_eviction_takes_one_disruption_from_the_budget(place: Place) -> None:
    place.budget(allowed=1)
    place.running("a", labels=_X)
    place.running("b", labels=_X)
    assert place.evict("a").status == 201
    status = place.asker.get(f"{place.budgets}/b").body["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["a"])
    assert place.evict("b").status == 429


def test_a_refused_precondition_has_taken_a_disruption_all_the_same(place: Place) -> None:
    place.budget(allowed=1)
    place.running(labels=_X)
    assert place.evict(uid="another").status == 409
    assert place.asker.get(f"{place.budgets}/b").body["status"]["disruptionsAllowed"] == 0


def test_a_dry_run_changes_nothing(place: Place) -> None:
    place.budget(allowed=1)
    before = place.running(labels=_X)
    assert place.evict(dry=True).status == 201
    assert place.find().version == before["metadata"]["resourceVersion"]
    assert place.asker.get(f"{place.budgets}/b").body["status"]["disruptionsAllowed"] == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "unbound"])
def test_what_does_not_run_is_gone_at_once(place: Place, phase: str) -> None:
    place.pod() if phase == "unbound" else place.running(phase=phase)
    place.evict()
    assert place.find().status == 404
