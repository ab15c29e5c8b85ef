"""Stored fields that do not follow from what happened are reported."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.verify import sound
from tests.verify.breaking import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    change,
    drop,
    find,
    rows,
    step,
)


def _add(*steps: object) -> Break:
    return lambda s, r: r.groups[1].decisions.extend(steps)


def _remembered(snapshot: Snapshot) -> snapshot_pb2.EvictionMemory:
    """An old eviction of `stretch` for `small`."""
    memory = snapshot.eviction_memory.add(victim="stretch", preemptor="small", unsettled=True)
    memory.last_eviction_time.FromSeconds(sound.NOW_S - 60)
    return memory


def _evicted_before(snapshot: Snapshot, ago_s: int = 60) -> snapshot_pb2.PodGroup:
    """`small`, which now starts, was evicted a while ago, and had waited for half a minute before."""
    group = find(snapshot, "pod_groups", "small")
    group.last_eviction_time.FromSeconds(sound.NOW_S - ago_s)
    group.waited_after_evictions.FromSeconds(30)
    return group


def _waited(seconds: int) -> object:
    added = sound.patch("small", "last_start_time")
    added.id = "waited-small"
    added.patch.waited_after_evictions.FromSeconds(seconds)
    return added


def _settle(response: Response, *, pod_group: str = "stretch") -> object:
    added = sound.remember("stretch", "small", unsettled=False)
    added.patch.pod_group = pod_group
    return response.groups[1].decisions.append(added)


PATCHES: Table = {
    "a start is not written down": (
        lambda s, r: drop(r, "patch-small"),
        "patch: last_start_time of pod group small should be written, but is not",
    ),
    "a start that did not happen": (
        _add(sound.patch("new", "last_start_time")),
        "patch: last_start_time of pod group new is written without cause",
    ),
    "a start at another time": (
        lambda s, r: step(r, "patch-small").patch.last_start_time.FromSeconds(7),
        "patch: last_start_time of pod group small is 7000000000, not 1000000000000000",
    ),
    "an eviction is not written down": (
        lambda s, r: drop(r, "patch-old"),
        "patch: last_eviction_time of pod group old should be written, but is not",
    ),
    "an eviction that did not happen": (
        _add(sound.patch("stretch", "last_eviction_time")),
        "patch: last_eviction_time of pod group stretch is written without cause",
    ),
    "an eviction is not counted": (
        lambda s, r: drop(r, "count-old"),
        "patch: eviction_count of pod group old should be written, but is not",
    ),
    "an eviction too many is counted": (
        _add(sound.count("stretch", 1)),
        "patch: eviction_count of pod group stretch is written without cause",
    ),
    "evictions are counted from the start again": (
        lambda s, r: change(find(s, "pod_groups", "old"), eviction_count=4),
        "patch: eviction_count of pod group old is 1, not 5",
    ),
    "a cooldown without a requeue": (
        _add(sound.patch("old", "requeue_not_before")),
        "patch: requeue_not_before of pod group old is written without cause",
    ),
    "a wait is not written down": (
        lambda s, r: _evicted_before(s),
        "patch: waited_after_evictions of pod group small should be written, but is not",
    ),
    "a wait that is added wrongly": (
        lambda s, r: (_evicted_before(s), _add(_waited(60))(s, r)),
        "patch: waited_after_evictions of pod group small is 60000000000, not 90000000000",
    ),
    "a wait without an eviction": (
        _add(_waited(60)),
        "patch: waited_after_evictions of pod group small is written without cause",
    ),
}
MEMORIES: Table = {
    "an eviction is not remembered": (
        lambda s, r: drop(r, "remember-old-new"),
        "memory: the eviction of old for new is not remembered",
    ),
    "an eviction is remembered as settled": (
        lambda s, r: change(step(r, "remember-old-new").patch.remember, unsettled=False),
        "memory: the eviction of old for new is not remembered",
    ),
    "an eviction for somebody else is remembered": (
        lambda s, r: change(step(r, "remember-old-new").patch.remember, preemptor="small"),
        "memory: an eviction of old for small is remembered that did not happen",
    ),
    "a patch of somebody else": (
        lambda s, r: (_remembered(s), _settle(r, pod_group="old")),
        "memory: a patch of old is about stretch",
    ),
    "what nobody knew is settled": (
        lambda s, r: _settle(r),
        "memory: of stretch and small nothing was known that could be settled or forgotten",
    ),
    "what nobody knew is forgotten": (
        lambda s, r: change(step(r, "count-old").patch, forget_preemptor="small"),
        "memory: of old and small nothing was known that could be settled or forgotten",
    ),
}
HARMLESS: dict[str, Break] = {
    "one more of several evictions": lambda s, r: (
        change(find(s, "pod_groups", "old"), eviction_count=4),
        change(step(r, "count-old").patch, eviction_count=5),
    ),
    "a wait is added to the earlier ones": lambda s, r: (_evicted_before(s), _add(_waited(90))(s, r)),
    "who ran since its eviction has not waited": lambda s, r: _evicted_before(s).last_start_time.FromSeconds(
        sound.NOW_S - 30
    ),
    "an eviction in the future is no wait": lambda s, r: _evicted_before(s, ago_s=-5),
    "what is known is settled": lambda s, r: (_remembered(s), _settle(r)),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(PATCHES))
def test_stored_fields_change_when_something_happened(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(MEMORIES))
def test_evictions_are_remembered_as_they_were(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_what_follows_from_what_happened_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
