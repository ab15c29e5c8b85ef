"""Responses to bindings, and the changes that they make."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace


class Case(NamedTuple):
    prepare: Callable[[ClientNamespace], object]
    status: int
    message: str = ""
    preconditions: dict[str, str] = {}


def _terminating_pod(place: ClientNamespace) -> None:
    """Delete a pod that is not bound and has a finalizer."""
    place.pod(finalizers=["example.com/keep"])
    place.client.request("DELETE", f"{place.pods}/a")


def _bound(node: str) -> Callable[[ClientNamespace], object]:
    return lambda place: (place.pod(), place.bind(node=node))


CASES = {
    "to a node that nobody has heard of: that is for the caller to look at": Case(ClientNamespace.pod, 201),
    "another uid": Case(ClientNamespace.pod, 409, "Precondition failed: UID", {"uid": "another"}),
    "an older version": Case(
        ClientNamespace.pod, 409, "Precondition failed: ResourceVersion", {"resourceVersion": "1"}
    ),
    "bound there already": Case(_bound("n1"), 409, 'already assigned to node "n1"'),
    "bound elsewhere": Case(_bound("n2"), 409, 'already assigned to node "n2"'),
    "gated": Case(
        lambda place: place.pod(spec={"schedulingGates": [{"name": "wait"}]}),
        409,
        "non-empty .spec.schedulingGates",
    ),
    "being deleted": Case(_terminating_pod, 409, "is being deleted"),
    "gone": Case(lambda place: None, 404, 'pods "a" not found'),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_binding_returns_the_expected_status(namespace: ClientNamespace, case: Case) -> None:
    case.prepare(namespace)
    came = namespace.bind(**case.preconditions)
    assert (came.status, case.message in came.message) == (case.status, True), came.body


def test_response_to_a_binding_is_a_status(namespace: ClientNamespace) -> None:
    pod = namespace.pod()
    came = namespace.bind(uid=pod["metadata"]["uid"], resourceVersion=pod["metadata"]["resourceVersion"])
    assert (came.body["kind"], came.body["status"]) == ("Status", "Success")


def test_a_bound_pod_is_on_its_node_and_still_pending(namespace: ClientNamespace) -> None:
    namespace.pod()
    namespace.bind(node="n7")
    pod = namespace.find().body
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("n7", "Pending")
    (condition,) = pod["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


def test_one_of_concurrent_bindings_succeeds(namespace: ClientNamespace) -> None:
    namespace.pod()
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda i: namespace.bind(node=f"n{i}").status, range(8)))
    assert sorted(statuses) == [201] + [409] * 7
    assert namespace.find().body["spec"]["nodeName"] == f"n{statuses.index(201)}"
