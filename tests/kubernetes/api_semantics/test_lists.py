"""Lists: pages of one version, and versions that are not available."""

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace


def _names(body: dict[str, object]) -> list[str]:
    items = body["items"]
    assert isinstance(items, list)
    return [item["metadata"]["name"] for item in items]


@pytest.fixture
def five_objects(namespace: ClientNamespace) -> ClientNamespace:
    for name in "edcba":
        namespace.pod(name)
    return namespace


def test_pages_have_one_version_despite_concurrent_writes(five_objects: ClientNamespace) -> None:
    first = five_objects.client.get(five_objects.pods, limit="2")
    assert first.body["metadata"]["remainingItemCount"] == 3
    five_objects.pod("bb")
    five_objects.client.request("DELETE", f"{five_objects.pods}/c")
    names, page = _names(first.body), first
    while token := page.body["metadata"].get("continue"):
        page = five_objects.client.get(five_objects.pods, limit="2", **{"continue": token})
        assert page.version == first.version
        names += _names(page.body)
    assert names == ["a", "b", "c", "d", "e"]
    assert _names(five_objects.client.get(five_objects.pods).body) == ["a", "b", "bb", "d", "e"]


def test_list_of_an_exact_version_has_the_content_of_that_version(five_objects: ClientNamespace) -> None:
    before = five_objects.client.get(five_objects.pods).version
    five_objects.pod("f")
    exact = five_objects.client.get(five_objects.pods, resourceVersion=before, resourceVersionMatch="Exact")
    assert (exact.version, _names(exact.body)) == (before, ["a", "b", "c", "d", "e"])


def test_future_version_times_out(namespace: ClientNamespace) -> None:
    came = namespace.client.get(
        namespace.pods, resourceVersion="999999999", resourceVersionMatch="NotOlderThan"
    )
    assert (came.status, came.headers["Retry-After"]) == (504, "1")
    assert came.causes == ["ResourceVersionTooLarge"]


def test_invalid_continue_token_is_rejected(namespace: ClientNamespace) -> None:
    came = namespace.client.get(namespace.pods, limit="2", **{"continue": "junk"})
    assert (came.status, "invalid continue token" in came.message) == (400, True)


def test_selectors_choose_by_label_and_field(five_objects: ClientNamespace) -> None:
    five_objects.pod("labelled", labels={"app": "x"})
    five_objects.bind("a", "n3")
    assert _names(five_objects.client.get(five_objects.pods, labelSelector="app=x").body) == ["labelled"]
    assert _names(five_objects.client.get(five_objects.pods, fieldSelector="spec.nodeName=n3").body) == ["a"]


def test_missing_namespace_lists_empty(namespace: ClientNamespace) -> None:
    came = namespace.client.get("/api/v1/namespaces/nowhere/pods")
    assert (came.status, came.body["items"]) == (200, [])
