"""Kinds that are defined: what is served of them, and which fields stay."""

import time
from typing import Any

import pytest

from tests.kube.contract.asking import Asker, Place, Reply

_GROUP = "contract.example.com"
_VERSION = f"{_GROUP}/v1"
_SERVED_SECONDS = 20.0


def _definition() -> dict[str, Any]:
    number, text = {"type": "integer"}, {"type": "string"}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": number}},
            "status": {"type": "object", "properties": {"phase": text}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": "Thing", "plural": "things", "singular": "thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{_GROUP}"},
        "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.fixture(scope="module")
def defining(asker: Asker) -> Asker:
    """An API server that serves things; before, it knows nothing of their group."""
    before = asker.get(f"/apis/{_VERSION}")
    assert before.status == 404
    asker.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _definition())
    end = time.monotonic() + _SERVED_SECONDS
    while asker.get(f"/apis/{_VERSION}/things").status != 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    return asker


@pytest.fixture
def things(defining: Asker, place: Place) -> str:
    return f"/apis/{_VERSION}/namespaces/{place.name}/things"


def thing(**more: Any) -> dict[str, Any]:
    meta = {"name": "t", **more.pop("meta", {})}
    return {"apiVersion": _VERSION, "kind": "Thing", "metadata": meta, "spec": {"size": 1}, **more}


def test_a_kind_that_is_defined_is_listed_among_those_of_its_group(defining: Asker) -> None:
    resources = defining.get(f"/apis/{_VERSION}").body["resources"]
    (found,) = (one for one in resources if one["name"] == "things")
    assert (found["kind"], found["namespaced"]) == ("Thing", True)


def test_fields_that_the_definition_does_not_know_are_dropped(defining: Asker, things: str) -> None:
    made = defining.make(things, thing(spec={"size": 2, "colour": "red"}))
    assert made["spec"] == {"size": 2}


def test_an_object_must_say_what_it_is(defining: Asker, things: str) -> None:
    assert defining.ask("POST", things, {"metadata": {"name": "t"}}).status == 400


def test_its_status_is_written_by_a_path_of_its_own_and_by_nothing_else(defining: Asker, things: str) -> None:
    assert "status" not in defining.make(things, thing(status={"phase": "x"}))

    def phase(came: Reply) -> str:
        return str(came.body.get("status", {}).get("phase", ""))

    path, query = f"{things}/t", {"force": "true"}
    assert phase(defining.apply(path, "m", thing(status={"phase": "x"}), **query)) == ""
    told = thing(status={"phase": "y"}, spec={"size": 5})
    assert phase(defining.apply(f"{path}/status", "m-status", told, **query)) == "y"
    assert phase(defining.merge(path, {"status": {"phase": "z"}})) == "y"
    assert defining.get(path).body["spec"] == {"size": 1}


def test_changes_of_what_is_asked_for_are_counted(defining: Asker, things: str) -> None:
    generations = [defining.make(things, thing())["metadata"]["generation"]]
    for body in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"size": 3}}):
        generations.append(defining.merge(f"{things}/t", body).body["metadata"]["generation"])
    assert generations == [1, 1, 2]


def test_annotations_of_a_manager_are_those_it_applied_last(defining: Asker, things: str) -> None:
    made = defining.make(things, thing(meta={"annotations": {"of": "others"}}))
    path, query = f"{things}/t", {"force": "true"}
    said = {"apiVersion": _VERSION, "kind": "Thing"}
    fence = {"name": "t", "uid": made["metadata"]["uid"]}
    first = {**said, "metadata": {**fence, "annotations": {"a": "1", "b": "1"}}}
    assert defining.apply(path, "tenure", first, **query).status == 200
    second = {**said, "metadata": {**fence, "annotations": {"a": "2"}}}
    came = defining.apply(path, "tenure", second, **query)
    assert came.body["metadata"]["annotations"] == {"of": "others", "a": "2"}


@pytest.mark.parametrize("api_server", [pytest.param("real", marks=pytest.mark.kube)], indirect=True)
def test_a_field_that_is_misspelt_is_named_when_that_is_asked_for(place: Place) -> None:
    """That is how manifests are checked; the fake API server does not know the fields of built-in kinds."""
    spec = {"containers": [{"name": "main", "image": "none"}], "securitycontext": {}}
    body = {"metadata": {"name": "a"}, "spec": spec}
    came = place.asker.ask("POST", place.pods, body, fieldValidation="Strict")
    assert (came.status, 'unknown field "spec.securitycontext"' in came.said) == (400, True)
