"""Custom resource definitions: which kinds are served, and which fields are kept."""

import time
from typing import Any

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace, RawClient, RawResponse

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
def server_with_definition(raw_client: RawClient) -> RawClient:
    """An API server that serves the kind; before the definition, it does not know the group."""
    before = raw_client.get(f"/apis/{_VERSION}")
    assert before.status == 404
    raw_client.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _definition())
    end = time.monotonic() + _SERVED_SECONDS
    while raw_client.get(f"/apis/{_VERSION}/things").status != 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    return raw_client


@pytest.fixture
def things(server_with_definition: RawClient, namespace: ClientNamespace) -> str:
    return f"/apis/{_VERSION}/namespaces/{namespace.name}/things"


def thing(**more: Any) -> dict[str, Any]:
    meta = {"name": "t", **more.pop("meta", {})}
    return {"apiVersion": _VERSION, "kind": "Thing", "metadata": meta, "spec": {"size": 1}, **more}


def test_defined_kind_is_listed_in_its_group(server_with_definition: RawClient) -> None:
    resources = server_with_definition.get(f"/apis/{_VERSION}").body["resources"]
    (found,) = (one for one in resources if one["name"] == "things")
    assert (found["kind"], found["namespaced"]) == ("Thing", True)


def test_unknown_fields_are_dropped(server_with_definition: RawClient, things: str) -> None:
    made = server_with_definition.make(things, thing(spec={"size": 2, "colour": "red"}))
    assert made["spec"] == {"size": 2}


def test_object_without_kind_is_rejected(server_with_definition: RawClient, things: str) -> None:
    assert server_with_definition.request("POST", things, {"metadata": {"name": "t"}}).status == 400


def test_status_is_written_only_by_the_status_subresource(
    server_with_definition: RawClient, things: str
) -> None:
    assert "status" not in server_with_definition.make(things, thing(status={"phase": "x"}))

    def phase(came: RawResponse) -> str:
        return str(came.body.get("status", {}).get("phase", ""))

    path, query = f"{things}/t", {"force": "true"}
    assert phase(server_with_definition.apply(path, "m", thing(status={"phase": "x"}), **query)) == ""
    body = thing(status={"phase": "y"}, spec={"size": 5})
    assert phase(server_with_definition.apply(f"{path}/status", "m-status", body, **query)) == "y"
    assert phase(server_with_definition.merge(path, {"status": {"phase": "z"}})) == "y"
    assert server_with_definition.get(path).body["spec"] == {"size": 1}


def test_spec_changes_increment_the_generation(server_with_definition: RawClient, things: str) -> None:
    generations = [server_with_definition.make(things, thing())["metadata"]["generation"]]
    for body in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"size": 3}}):
        generations.append(server_with_definition.merge(f"{things}/t", body).body["metadata"]["generation"])
    assert generations == [1, 1, 2]


def test_annotations_of_a_manager_are_those_of_its_last_apply(
    server_with_definition: RawClient, things: str
) -> None:
    made = server_with_definition.make(things, thing(meta={"annotations": {"of": "others"}}))
    path, query = f"{things}/t", {"force": "true"}
    type_meta = {"apiVersion": _VERSION, "kind": "Thing"}
    fence = {"name": "t", "uid": made["metadata"]["uid"]}
    first = {**type_meta, "metadata": {**fence, "annotations": {"a": "1", "b": "1"}}}
    assert server_with_definition.apply(path, "tenure", first, **query).status == 200
    second = {**type_meta, "metadata": {**fence, "annotations": {"a": "2"}}}
    came = server_with_definition.apply(path, "tenure", second, **query)
    assert came.body["metadata"]["annotations"] == {"of": "others", "a": "2"}


@pytest.mark.parametrize("api_server", [pytest.param("real", marks=pytest.mark.kube)], indirect=True)
def test_strict_validation_names_a_misspelled_field(namespace: ClientNamespace) -> None:
    """Manifests are checked this way; the fake API server does not know the fields of built-in kinds."""
    spec = {"containers": [{"name": "main", "image": "none"}], "securitycontext": {}}
    body = {"metadata": {"name": "a"}, "spec": spec}
    came = namespace.client.request("POST", namespace.pods, body, fieldValidation="Strict")
    assert (came.status, 'unknown field "spec.securitycontext"' in came.message) == (400, True)
