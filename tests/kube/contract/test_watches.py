"""Watches: everything once and in order, bookmarks, and 410 for what is forgotten."""

from itertools import islice
from typing import Any

from tests.kube.contract.asking import ApiServer, Asker, Place


def _told(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def test_a_watch_tells_what_changes_after_its_version_in_order(place: Place) -> None:
    place.pod("before")
    version = place.asker.get(place.pods).version
    with place.asker.watch(place.pods, resourceVersion=version, timeoutSeconds="10") as events:
        place.pod("a")
        place.bind("a")
        place.asker.ask("DELETE", f"{place.pods}/a", {"gracePeriodSeconds": 0})
        place.pod("b")
        came = list(islice(events, 5))
    assert [_told(event) for event in came] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("ADDED", "b"),
    ]
    assert "deletionTimestamp" in came[2]["object"]["metadata"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in came]
    assert versions == sorted(set(versions))


def test_a_watch_that_goes_on_from_any_event_misses_and_repeats_nothing(place: Place) -> None:
    version = place.asker.get(place.pods).version
    for name in "abcd":
        place.pod(name)
    for after in range(4):
        with place.asker.watch(place.pods, resourceVersion=version, timeoutSeconds="10") as events:
            event, *rest = islice(events, 4 - after)
        assert _told(event) == ("ADDED", "abcd"[after])
        assert len(rest) == 3 - after
        version = event["object"]["metadata"]["resourceVersion"]


def test_the_last_form_of_what_is_gone_has_a_version_to_go_on_from(place: Place) -> None:
    place.pod("a")
    version = place.asker.get(place.pods).version
    place.asker.ask("DELETE", f"{place.pods}/a")
    place.pod("b")
    with place.asker.watch(place.pods, resourceVersion=version, timeoutSeconds="10") as events:
        gone = next(event for event in events if event["type"] == "DELETED")
    after = gone["object"]["metadata"]["resourceVersion"]
    assert int(after) > int(version)
    with place.asker.watch(place.pods, resourceVersion=after, timeoutSeconds="10") as events:
        assert _told(next(events)) == ("ADDED", "b")


def test_a_watch_without_a_version_begins_with_all_there_is(place: Place) -> None:
    for name in "ab":
        place.pod(name)
    with place.asker.watch(place.pods, timeoutSeconds="10") as events:
        assert [_told(event) for event in islice(events, 2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_a_watch_that_lists_first_says_when_it_has_told_all(place: Place) -> None:
    for name in "ab":
        place.pod(name)
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    with place.asker.watch(place.pods, allowWatchBookmarks="true", timeoutSeconds="10", **asked) as events:
        came = list(islice(events, 3))
        place.pod("c")
        assert _told(next(events)) == ("ADDED", "c")
    assert [event["type"] for event in came] == ["ADDED", "ADDED", "BOOKMARK"]
    annotations = came[-1]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


def test_a_watch_says_before_its_end_how_far_it_got(place: Place, asker: Asker) -> None:
    """That is what makes bookmarks worth having: others write, and the version would grow too old."""
    version = place.asker.get(place.pods).version
    asked = {"allowWatchBookmarks": "true", "timeoutSeconds": "3"}
    with place.asker.watch(place.pods, resourceVersion=version, **asked) as events:
        elsewhere = Place(asker).pod()["metadata"]["resourceVersion"]
        came = next(events)
    assert came["type"] == "BOOKMARK"
    assert int(came["object"]["metadata"]["resourceVersion"]) >= int(elsewhere)


def test_a_watch_without_bookmarks_ends_in_silence(place: Place) -> None:
    version = place.asker.get(place.pods).version
    with place.asker.watch(place.pods, resourceVersion=version, timeoutSeconds="1") as events:
        assert list(events) == []


def test_what_was_forgotten_is_refused_in_three_ways(place: Place, api_server: ApiServer) -> None:
    """A watch begins with 200 and tells of the 410 as its only event; lists say it themselves."""
    place.pod("a")
    place.pod("b")
    first = place.asker.get(place.pods, limit="1")
    place.pod("c")
    api_server.compact()
    place.pod("d")
    with place.asker.watch(place.pods, resourceVersion=first.version, timeoutSeconds="10") as events:
        (event,) = events
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    exact = place.asker.get(place.pods, resourceVersion=first.version, resourceVersionMatch="Exact")
    token = first.body["metadata"]["continue"]
    going_on = place.asker.get(place.pods, limit="1", **{"continue": token})
    assert [(came.status, came.body["reason"]) for came in (exact, going_on)] == [(410, "Expired")] * 2
    assert len(place.asker.get(place.pods).body["items"]) == 4
