"""Which class serves an extended resource, and the claim of a pod that requests some."""

from typing import Any

import pytest
from msgspec import convert
from tenure.kubernetes.devices.extended_resources import classes_by_resource, extended_claim
from tenure.kubernetes.objects.devices import DeviceClass
from tenure.kubernetes.objects.pod import Pod

from tests.kubernetes.observe.cached_cluster import pod

FPGA = "example.com/fpga"


def classes(*items: tuple[str, str, str]) -> list[DeviceClass]:
    made = [
        {
            "metadata": {"name": name, "creationTimestamp": f"2027-01-0{day}T00:00:00Z"},
            "spec": {"extendedResourceName": resource},
        }
        for name, resource, day in items
    ]
    return convert(made, list[DeviceClass])


def test_of_several_classes_the_newest_serves_a_resource() -> None:
    found = classes_by_resource(classes(("b", FPGA, "2"), ("a", FPGA, "1"), ("c", FPGA, "2"), ("d", "", "3")))
    assert found == {FPGA: "b"}


def container(name: str, amount: int, **more: Any) -> dict[str, Any]:
    requests = {"cpu": "1"} | ({FPGA: str(amount)} if amount else {})
    return {"name": name, "resources": {"requests": requests}, **more}


SIDECAR = {"restartPolicy": "Always"}
CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, int], set[tuple[str, str]]]] = {
    "two containers": (
        [],
        [container("a", 1), container("none", 0), container("b", 2)],
        {"container-0-request-1": 1, "container-2-request-1": 2},
        {("a", "container-0-request-1"), ("b", "container-2-request-1")},
    ),
    "an init container uses the devices of a later container": (
        [container("i", 2)],
        [container("a", 3)],
        {"container-1-request-1": 3},
        {("a", "container-1-request-1"), ("i", "container-1-request-1")},
    ),
    "a larger init container has further ones": (
        [container("i", 5)],
        [container("a", 3)],
        {"container-0-request-1": 2, "container-1-request-1": 3},
        {
            ("a", "container-1-request-1"),
            ("i", "container-1-request-1"),
            ("i", "container-0-request-1"),
        },
    ),
    "init containers share the further ones of the largest": (
        [container("i", 1), container("j", 2)],
        [container("a", 0)],
        {"container-1-request-1": 2},
        {("i", "container-1-request-1"), ("j", "container-1-request-1")},
    ),
    "an init container does not use the devices of an earlier sidecar": (
        [container("s", 1, **SIDECAR), container("i", 1)],
        [container("a", 0)],
        {"container-0-request-1": 1, "container-1-request-1": 1},
        {("s", "container-0-request-1"), ("i", "container-1-request-1")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claim_has_a_request_for_each_container_and_resource(case: str) -> None:
    init, containers, requests, mappings = CASES[case]
    item = pod("p", meta={"uid": "u"}, spec={"initContainers": init, "containers": containers})
    made = extended_claim(convert(item, Pod), {FPGA: "c", "example.com/not-requested": "d"})
    assert made is not None
    found = {one.name: one.exactly for one in made.claim.spec.devices.requests}
    assert {name: one.count for name, one in found.items() if one} == requests
    assert {one.device_class_name for one in found.values() if one} == {"c"}
    assert {(one.container_name, one.request_name) for one in made.mappings} == mappings
    assert {one.resource_name for one in made.mappings} == {FPGA}
    assert made.classes == {FPGA: "c"}


def test_name_of_the_claim_depends_on_the_pod_alone_and_is_valid() -> None:
    item = pod("p" * 250, meta={"uid": "u"}, spec={"containers": [container("a", 1)]})
    one, other = (extended_claim(convert(item, Pod), {FPGA: name}) for name in ("c", "d"))
    assert one is not None
    assert other is not None
    assert one.claim.metadata.name == other.claim.metadata.name
    assert len(one.claim.metadata.name) == 253
