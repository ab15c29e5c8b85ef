"""Watches: every change once and in order, bookmarks, and 410 for versions that are compacted."""

from itertools import islice
from typing import Any

from tests.kubernetes.api_semantics.raw_client import ApiServer, ClientNamespace, RawClient


def _event_summary(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def test_watch_reports_changes_after_its_version_in_order(namespace: ClientNamespace) -> None:
    namespace.pod("before")
    version = namespace.client.get(namespace.pods).version
    with namespace.client.watch(namespace.pods, resourceVersion=version, timeoutSeconds="10") as events:
        namespace.pod("a")
        namespace.bind("a")
        namespace.client.request("DELETE", f"{namespace.pods}/a", {"gracePeriodSeconds": 0})
        namespace.pod("b")
        came = list(islice(events, 5))
    assert [_event_summary(event) for event in came] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("ADDED", "b"),
    ]
    assert "deletionTimestamp" in came[2]["object"]["metadata"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in came]
    assert versions == sorted(set(versions))


def test_watch_resumed_from_any_event_misses_and_repeats_nothing(namespace: ClientNamespace) -> None:
    version = namespace.client.get(namespace.pods).version
    for name in "abcd":
        namespace.pod(name)
    for after in range(4):
        with namespace.client.watch(namespace.pods, resourceVersion=version, timeoutSeconds="10") as events:
            event, *rest = islice(events, 4 - after)
        assert _event_summary(event) == ("ADDED", "abcd"[after])
        assert len(rest) == 3 - after
        version = event["object"]["metadata"]["resourceVersion"]


def test_deletion_event_has_a_version_to_resume_from(namespace: ClientNamespace) -> None:
    namespace.pod("a")
    version = namespace.client.get(namespace.pods).version
    namespace.client.request("DELETE", f"{namespace.pods}/a")
    namespace.pod("b")
    with namespace.client.watch(namespace.pods, resourceVersion=version, timeoutSeconds="10") as events:
        gone = next(event for event in events if event["type"] == "DELETED")
    after = gone["object"]["metadata"]["resourceVersion"]
    assert int(after) > int(version)
    with namespace.client.watch(namespace.pods, resourceVersion=after, timeoutSeconds="10") as events:
        assert _event_summary(next(events)) == ("ADDED", "b")


def test_watch_without_version_starts_with_all_objects(namespace: ClientNamespace) -> None:
    for name in "ab":
        namespace.pod(name)
    with namespace.client.watch(namespace.pods, timeoutSeconds="10") as events:
        assert [_event_summary(event) for event in islice(events, 2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_watch_with_initial_events_marks_their_end(namespace: ClientNamespace) -> None:
    for name in "ab":
        namespace.pod(name)
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    with namespace.client.watch(
        namespace.pods, allowWatchBookmarks="true", timeoutSeconds="10", **asked
    ) as events:
        came = list(islice(events, 3))
        namespace.pod("c")
        assert _event_summary(next(events)) == ("ADDED", "c")
    assert [event["type"] for event in came] == ["ADDED", "ADDED", "BOOKMARK"]
    annotations = came[-1]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


def test_watch_sends_a_bookmark_before_its_end(namespace: ClientNamespace, raw_client: RawClient) -> None:
    """Bookmarks keep the version recent when only other namespaces change."""
    version = namespace.client.get(namespace.pods).version
    asked = {"allowWatchBookmarks": "true", "timeoutSeconds": "3"}
    with namespace.client.watch(namespace.pods, resourceVersion=version, **asked) as events:
        elsewhere = ClientNamespace(raw_client).pod()["metadata"]["resourceVersion"]
        came = next(events)
    assert came["type"] == "BOOKMARK"
    assert int(came["object"]["metadata"]["resourceVersion"]) >= int(elsewhere)


def test_watch_without_bookmarks_ends_without_event(namespace: ClientNamespace) -> None:
    version = namespace.client.get(namespace.pods).version
    with namespace.client.watch(namespace.pods, resourceVersion=version, timeoutSeconds="1") as events:
        assert list(events) == []


def test_compacted_version_is_rejected_by_watch_list_and_continue(
    namespace: ClientNamespace, api_server: ApiServer
) -> None:
    """A watch returns 200 and then the 410 as its only event; lists return the status 410."""
    namespace.pod("a")
    namespace.pod("b")
    first = namespace.client.get(namespace.pods, limit="1")
    namespace.pod("c")
    api_server.compact()
    namespace.pod("d")
    with namespace.client.watch(namespace.pods, resourceVersion=first.version, timeoutSeconds="10") as events:
        (event,) = events
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    exact = namespace.client.get(namespace.pods, resourceVersion=first.version, resourceVersionMatch="Exact")
    token = first.body["metadata"]["continue"]
    going_on = namespace.client.get(namespace.pods, limit="1", **{"continue": token})
    assert [(came.status, came.body["reason"]) for came in (exact, going_on)] == [(410, "Expired")] * 2
    assert len(namespace.client.get(namespace.pods).body["items"]) == 4
