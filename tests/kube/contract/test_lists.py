"""Lists: pages of one version, and versions that are not to be had."""

import pytest

from tests.kube.contract.asking import Place


def _names(body: dict[str, object]) -> list[str]:
    items = body["items"]
    assert isinstance(items, list)
    return [item["metadata"]["name"] for item in items]


@pytest.fixture
def five(place: Place) -> Place:
    for name in "edcba":
        place.pod(name)
    return place


def test_pages_are_of_one_version_whatever_is_written_in_between(five: Place) -> None:
    first = five.asker.get(five.pods, limit="2")
    assert first.body["metadata"]["remainingItemCount"] == 3
    five.pod("bb")
    five.asker.ask("DELETE", f"{five.pods}/c")
    names, page = _names(first.body), first
    while token := page.body["metadata"].get("continue"):
        page = five.asker.get(five.pods, limit="2", **{"continue": token})
        assert page.version == first.version
        names += _names(page.body)
    assert names == ["a", "b", "c", "d", "e"]
    assert _names(five.asker.get(five.pods).body) == ["a", "b", "bb", "d", "e"]


def test_a_list_of_an_exact_version_is_as_it_was_then(five: Place) -> None:
    before = five.asker.get(five.pods).version
    five.pod("f")
    exact = five.asker.get(five.pods, resourceVersion=before, resourceVersionMatch="Exact")
    assert (exact.version, _names(exact.body)) == (before, ["a", "b", "c", "d", "e"])


def test_a_version_to_come_is_waited_for_and_then_refused(place: Place) -> None:
    came = place.asker.get(place.pods, resourceVersion="999999999", resourceVersionMatch="NotOlderThan")
    assert (came.status, came.headers["Retry-After"]) == (504, "1")
    assert came.causes == ["ResourceVersionTooLarge"]


def test_a_token_to_go_on_that_is_none_is_refused(place: Place) -> None:
    came = place.asker.get(place.pods, limit="2", **{"continue": "junk"})
    assert (came.status, "invalid continue token" in came.said) == (400, True)


def test_selectors_choose_by_label_and_field(five: Place) -> None:
    five.pod("labelled", labels={"app": "x"})
    five.bind("a", "n3")
    assert _names(five.asker.get(five.pods, labelSelector="app=x").body) == ["labelled"]
    assert _names(five.asker.get(five.pods, fieldSelector="spec.nodeName=n3").body) == ["a"]


def test_a_namespace_that_is_not_there_is_empty(place: Place) -> None:
    came = place.asker.get("/api/v1/namespaces/nowhere/pods")
    assert (came.status, came.body["items"]) == (200, [])
