"""Pod groups without evictable tasks are skipped and counted with the next victim of their queue."""

from tenure.solver.model.resources import Share
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.victim_entries import RemainingTasks, SkippedVictims


def entry(number: int, gpus: int, *, is_core: bool = False) -> QueueTreeEntry:
    """A pod group with one task that is evictable or not."""
    held = RemainingTasks(
        {0: [number]}, frozenset([number]) if is_core else None, () if is_core else (number,)
    )
    return QueueTreeEntry((number,), number, (1, 2, gpus), held)


def skipped_entries(*entries: QueueTreeEntry) -> list[tuple[int, Share]]:
    """The remaining entries, and the tasks that are counted with each of them."""
    passed = SkippedVictims()
    found = [passed.skip_or_merge(each) for each in entries]
    return [(each.pod_group, each.share) for each in found if each is not None]


def test_evictable_entry_is_unchanged() -> None:
    first, second = entry(1, 1000), entry(2, 2000)
    passed = SkippedVictims()
    assert passed.skip_or_merge(first) is first
    assert passed.skip_or_merge(second) is second


def test_protected_entry_counts_once_with_the_next_entry() -> None:
    cores = [entry(1, 1000, is_core=True), entry(2, 2000, is_core=True)]
    found = skipped_entries(*cores, entry(3, 3000), entry(4, 4000))
    assert found == [(3, (3, 6, 6000)), (4, (1, 2, 4000))]


def test_protected_last_entry_does_not_count() -> None:
    assert skipped_entries(entry(1, 1000), entry(2, 2000, is_core=True)) == [(1, (1, 2, 1000))]


def test_existing_entry_is_not_modified() -> None:
    known = entry(2, 2000)
    skipped_entries(entry(1, 1000, is_core=True), known)
    assert known.share == (1, 2, 2000)
