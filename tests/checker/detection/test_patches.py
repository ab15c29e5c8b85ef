"""The checker reports patches that do not follow from the decisions."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    drop_decisions,
    find,
    find_decision,
    rows,
    set_fields,
)


def _add(*steps: object) -> Break:
    return lambda s, r: r.groups[1].decisions.extend(steps)


def _with_eviction_record(snapshot: Snapshot) -> snapshot_pb2.EvictionRecord:
    """Add an eviction record of an earlier eviction of `stretch` for `small`."""
    memory = snapshot.eviction_history.add(victim="stretch", preemptor="small", result_pending=True)
    memory.last_eviction_time.FromSeconds(sound_response.NOW_S - 60)
    return memory


def _evicted_before(snapshot: Snapshot, ago_s: int = 60) -> snapshot_pb2.PodGroup:
    """`small`, which starts now, was evicted `ago_s` seconds ago; its earlier total wait is 30 seconds."""
    group = find(snapshot, "pod_groups", "small")
    group.last_eviction_time.FromSeconds(sound_response.NOW_S - ago_s)
    group.total_eviction_wait.FromSeconds(30)
    return group


def _with_wait(seconds: int) -> object:
    added = sound_response.patch("small", "last_start_time")
    added.id = "waited-small"
    added.patch.total_eviction_wait.FromSeconds(seconds)
    return added


def _settle(response: Response, *, pod_group: str = "stretch") -> object:
    added = sound_response.set_eviction_record("stretch", "small", result_pending=False)
    added.patch.pod_group = pod_group
    return response.groups[1].decisions.append(added)


PATCHES: Table = {
    "a start is not written down": (
        lambda s, r: drop_decisions(r, "patch-small"),
        "patch: last_start_time of pod group small should be written, but is not",
    ),
    "a start that did not happen": (
        _add(sound_response.patch("new", "last_start_time")),
        "patch: last_start_time of pod group new is written without cause",
    ),
    "a start at another time": (
        lambda s, r: find_decision(r, "patch-small").patch.last_start_time.FromSeconds(7),
        "patch: last_start_time of pod group small is 7000000000, not 1000000000000000",
    ),
    "an eviction is not written down": (
        lambda s, r: drop_decisions(r, "patch-old"),
        "patch: last_eviction_time of pod group old should be written, but is not",
    ),
    "an eviction that did not happen": (
        _add(sound_response.patch("stretch", "last_eviction_time")),
        "patch: last_eviction_time of pod group stretch is written without cause",
    ),
    "an eviction is not counted": (
        lambda s, r: drop_decisions(r, "count-old"),
        "patch: eviction_count of pod group old should be written, but is not",
    ),
    "an eviction too many is counted": (
        _add(sound_response.count("stretch", 1)),
        "patch: eviction_count of pod group stretch is written without cause",
    ),
    "evictions are counted from the start again": (
        lambda s, r: set_fields(find(s, "pod_groups", "old"), eviction_count=4),
        "patch: eviction_count of pod group old is 1, not 5",
    ),
    "an eviction without progress that did not happen": (
        _add(sound_response.without_progress("stretch", 1)),
        "patch: evictions_without_progress of pod group stretch is written without cause",
    ),
    "evictions without progress are counted for some only": (
        _add(sound_response.without_progress("stretch", 1)),
        "patch: evictions_without_progress of pod group old should be written, but is not",
    ),
    "an eviction without progress is counted twice": (
        _add(sound_response.without_progress("old", 2)),
        "patch: evictions_without_progress of pod group old is 2, not 1",
    ),
    "a hold is not written down": (
        lambda s, r: set_fields(find_decision(r, "evict-old-0").evict, fate=snapshot_pb2.FATE_HOLD),
        "patch: held_by of pod group old should be written, but is not",
    ),
    "the eviction of a deleted pod group is counted": (
        lambda s, r: set_fields(find_decision(r, "evict-old-0").evict, fate=snapshot_pb2.FATE_DELETE),
        "patch: eviction_count of pod group old is written without cause",
    ),
    "a cooldown without a requeue": (
        _add(sound_response.patch("old", "requeue_not_before")),
        "patch: requeue_not_before of pod group old is written without cause",
    ),
    "a wait is not written down": (
        lambda s, r: _evicted_before(s),
        "patch: total_eviction_wait of pod group small should be written, but is not",
    ),
    "a wait that is added wrongly": (
        lambda s, r: (_evicted_before(s), _add(_with_wait(60))(s, r)),
        "patch: total_eviction_wait of pod group small is 60000000000, not 90000000000",
    ),
    "a wait without an eviction": (
        _add(_with_wait(60)),
        "patch: total_eviction_wait of pod group small is written without cause",
    ),
}
MEMORIES: Table = {
    "an eviction is not remembered": (
        lambda s, r: drop_decisions(r, "remember-old-new"),
        "memory: the eviction of old for new is not remembered",
    ),
    "an eviction is remembered as settled": (
        lambda s, r: set_fields(
            find_decision(r, "remember-old-new").patch.set_eviction_record, result_pending=False
        ),
        "memory: the eviction of old for new is not remembered",
    ),
    "an eviction for somebody else is remembered": (
        lambda s, r: set_fields(
            find_decision(r, "remember-old-new").patch.set_eviction_record, preemptor="small"
        ),
        "memory: an eviction of old for small is remembered that did not happen",
    ),
    "a patch of somebody else": (
        lambda s, r: (_with_eviction_record(s), _settle(r, pod_group="old")),
        "memory: a patch of old is about stretch",
    ),
    "what nobody knew is settled": (
        lambda s, r: _settle(r),
        "memory: of stretch and small nothing was known that could be settled or forgotten",
    ),
    "what nobody knew is forgotten": (
        lambda s, r: set_fields(find_decision(r, "count-old").patch, delete_eviction_record="small"),
        "memory: of old and small nothing was known that could be settled or forgotten",
    ),
}
HARMLESS: dict[str, Break] = {
    "one more of several evictions": lambda s, r: (
        set_fields(find(s, "pod_groups", "old"), eviction_count=4),
        set_fields(find_decision(r, "count-old").patch, eviction_count=5),
    ),
    "one more eviction without progress": lambda s, r: (
        set_fields(find(s, "pod_groups", "old"), evictions_without_progress=4),
        _add(sound_response.without_progress("old", 5))(s, r),
    ),
    "a wait is added to the earlier ones": lambda s, r: (_evicted_before(s), _add(_with_wait(90))(s, r)),
    "who ran since its eviction has not waited": lambda s, r: _evicted_before(s).last_start_time.FromSeconds(
        sound_response.NOW_S - 30
    ),
    "an eviction in the future is no wait": lambda s, r: _evicted_before(s, ago_s=-5),
    "what is known is settled": lambda s, r: (_with_eviction_record(s), _settle(r)),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(PATCHES))
def test_wrong_stored_field_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(MEMORIES))
def test_wrong_eviction_record_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_correct_patch_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
