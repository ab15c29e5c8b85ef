"""The stored form of the journal."""

import zlib

import pytest
from tenure.integration.journal import Journal, PendingPatches
from tenure.integration.journal_entry import EntryState, JournalEntry
from tenure.integration.journal_format import pack_journal, unpack_journal
from tenure.integration.ports import JournalUnreadable
from tenure.v1.decision_pb2 import Patch
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, DecisionResult, PatchToStore
from tenure.v1.snapshot_pb2 import (
    EvictionRateState,
    PlannedStart,
    PostponedPodGroup,
    QueueRuntimes,
    QueueUsage,
)
from tenure.wire.carried import STORED

from tests.kubernetes.apply.decision_groups import bind, evict, group, reserve, set_eviction_record


def journal(state: EntryState = EntryState.ACCEPTED) -> Journal:
    made = Journal()
    entry = JournalEntry(group(evict("a"), reserve("h"), bind("b")), attempts={"evict-a": 2})
    entry.add_result(DecisionResult(decision_id="evict-a", status=APPLY_STATUS_APPLIED))
    entry.state = state
    entry.stored_patches.append(PatchToStore(decision_id="x", patch=Patch(pod_group="v", eviction_count=3)))
    made.add([entry])
    made.eviction_history["victim", "winner"] = set_eviction_record().patch.set_eviction_record
    made.carried["queue_usage"]["q"] = QueueUsage(queue="q", normalized={"gpu": 5})
    made.carried["queue_runtimes"]["q"] = QueueRuntimes(queue="q", sizes=[{"gpu_milli": 1, "seconds": [5]}])
    made.carried["planned_starts"]["w"] = PlannedStart(pod_group="w", held=5)
    made.carried["postponed_pod_groups"]["p"] = PostponedPodGroup(pod_group="p", since={"seconds": 5})
    made.carried["eviction_rates"]["ten"] = EvictionRateState(
        name="ten", tokens_milli=-2_000, time={"seconds": 5}
    )
    pending = made.pending_patches["v"] = PendingPatches(last_seen_seconds=12.5)
    pending.add(Patch(pod_group="v", eviction_count=0))
    pending.add(Patch(pod_group="v", clear_stale_since=True))
    return made


@pytest.mark.parametrize("state", EntryState)
def test_unpacked_journal_has_entries_possibly_sent(state: EntryState) -> None:
    saved = journal(state)
    read = unpack_journal(pack_journal(saved), "test")
    before, after = saved.entries["g"], read.entries["g"]
    assert (after.group, after.results, after.attempts) == (before.group, before.results, before.attempts)
    assert after.stored_patches == before.stored_patches
    assert after.state is (EntryState.UNREPORTED if state is EntryState.ACCEPTED else state)
    assert after.check_first
    assert read.carried.copy() == saved.carried.copy()
    assert all(read.carried[kind.name] for kind in STORED)
    assert read.pending_patches == saved.pending_patches
    assert not read.is_changed


def test_same_journal_has_the_same_bytes() -> None:
    assert pack_journal(journal()) == pack_journal(journal())


def test_rows_of_a_kind_of_a_newer_version_are_skipped() -> None:
    content = zlib.decompress(pack_journal(journal())).replace(b'"queueUsage"', b'"queueNotes"')
    read, saved = unpack_journal(zlib.compress(content), "test"), journal()
    assert read.carried.copy() == {**saved.carried.copy(), "queue_usage": {}}
    assert (read.entries.keys(), read.pending_patches) == (saved.entries.keys(), saved.pending_patches)


def test_nothing_stored_is_an_empty_journal() -> None:
    assert not unpack_journal(b"", "test").entries


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_corrupt_content_is_an_error_with_the_name_of_the_store(cut: int) -> None:
    with pytest.raises(JournalUnreadable, match="file x is corrupt; delete it to continue"):
        unpack_journal(pack_journal(journal())[:-cut], "file x")
