"""What a binding is answered with, and what it changes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.kube.contract.asking import Place


class Case(NamedTuple):
    prepare: Callable[[Place], object]
    status: int
    said: str = ""
    preconditions: dict[str, str] = {}


def _ending(place: Place) -> None:
    """Deleted, not bound, and kept by a finalizer."""
    place.pod(finalizers=["example.com/keep"])
    place.asker.ask("DELETE", f"{place.pods}/a")


def _bound(node: str) -> Callable[[Place], object]:
    return lambda place: (place.pod(), place.bind(node=node))


CASES = {
    "to a node that nobody has heard of: that is for the caller to look at": Case(Place.pod, 201),
    "another uid": Case(Place.pod, 409, "Precondition failed: UID", {"uid": "another"}),
    "an older version": Case(
        Place.pod, 409, "Precondition failed: ResourceVersion", {"resourceVersion": "1"}
    ),
    "bound there already": Case(_bound("n1"), 409, 'already assigned to node "n1"'),
    "bound elsewhere": Case(_bound("n2"), 409, 'already assigned to node "n2"'),
    "gated": Case(
        lambda place: place.pod(spec={"schedulingGates": [{"name": "wait"}]}),
        409,
        "non-empty .spec.schedulingGates",
    ),
    "being deleted": Case(_ending, 409, "is being deleted"),
    "gone": Case(lambda place: None, 404, 'pods "a" not found'),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_binding_is_answered(place: Place, case: Case) -> None:
    case.prepare(place)
    came = place.bind(**case.preconditions)
    assert (came.status, case.said in came.said) == (case.status, True), came.body


def test_the_answer_to_a_binding_is_no_binding(place: Place) -> None:
    pod = place.pod()
    came = place.bind(uid=pod["metadata"]["uid"], resourceVersion=pod["metadata"]["resourceVersion"])
    assert (came.body["kind"], came.body["status"]) == ("Status", "Success")


def test_a_bound_pod_is_on_its_node_and_still_pending(place: Place) -> None:
    place.pod()
    place.bind(node="n7")
    pod = place.find().body
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("n7", "Pending")
    (told,) = pod["status"]["conditions"]
    assert (told["type"], told["status"]) == ("PodScheduled", "True")


def test_of_bindings_at_once_one_counts(place: Place) -> None:
    place.pod()
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda i: place.bind(node=f"n{i}").status, range(8)))
    assert sorted(statuses) == [201] + [409] * 7
    assert place.find().body["spec"]["nodeName"] == f"n{statuses.index(201)}"
