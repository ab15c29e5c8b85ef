"""The ledger survives the adapter, and nobody overwrites another's."""

import base64
import random

import pytest
from tenure.integration.journal_entry import EntryState, JournalEntry
from tenure.kubernetes.api.api_errors import Conflict, JournalUnreadable, LeaseLost
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.journal import Journal
from tenure.kubernetes.journal_store import JournalFull, JournalStore
from tenure.kubernetes.pending_annotations import PendingAnnotations
from tenure.v1.decision_pb2 import Patch
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, DecisionResult, PatchToStore

from tests.kubernetes.apply.decision_groups import bind, evict, group, reserve, set_eviction_record
from tests.kubernetes.fake_api_server.server import FakeApiServer

MAPS = "/api/v1/namespaces/tenure-system/configmaps"


def store(transport: Transport, may_act: bool = True) -> JournalStore:
    return JournalStore(transport, "tenure-system", "tenure", lambda: may_act)


def ledger(state: EntryState = EntryState.ACCEPTED) -> Journal:
    made = Journal()
    entry = JournalEntry(group(evict("a"), reserve("h"), bind("b")), attempts={"evict-a": 2})
    entry.add_result(DecisionResult(decision_id="evict-a", status=APPLY_STATUS_APPLIED))
    entry.state = state
    entry.stored_patches.append(PatchToStore(decision_id="x", patch=Patch(pod_group="v", eviction_count=3)))
    made.add([entry])
    made.eviction_history["victim", "winner"] = set_eviction_record().patch.set_eviction_record
    made.pending_annotations["v"] = PendingAnnotations(
        {"key": "text"}, has_object=False, last_seen_seconds=12.5
    )
    return made


@pytest.mark.parametrize("state", EntryState)
def test_saved_journal_loads_with_entries_possibly_sent(transport: Transport, state: EntryState) -> None:
    writer = store(transport)
    assert not writer.load().entries
    saved = ledger(state)
    writer.save(saved)
    read = store(transport).load()
    before, after = saved.entries["g"], read.entries["g"]
    assert (after.group, after.results, after.attempts) == (before.group, before.results, before.attempts)
    assert after.stored_patches == before.stored_patches
    assert after.state is (EntryState.UNREPORTED if state is EntryState.ACCEPTED else state)
    assert after.check_first
    assert (read.eviction_history, read.pending_annotations) == (
        saved.eviction_history,
        saved.pending_annotations,
    )
    assert not read.is_changed


def test_save_from_an_outdated_copy_is_a_conflict(transport: Transport) -> None:
    first, second = store(transport), store(transport)
    first.load(), second.load()
    first.save(ledger())
    with pytest.raises(Conflict):
        second.save(Journal())
    first.save(ledger())


def test_deleted_configmap_is_recreated_with_the_full_content(transport: Transport) -> None:
    writer = store(transport)
    writer.load()
    writer.save(ledger())
    transport.delete(f"{MAPS}/tenure-journal", {})
    writer.save(ledger())
    assert store(transport).load().entries
    writer.save(Journal())


def test_configmap_recreated_by_another_client_is_not_overwritten(
    transport: Transport,
) -> None:
    writer, other = store(transport), store(transport)
    writer.load()
    writer.save(Journal())
    transport.delete(f"{MAPS}/tenure-journal", {})
    other.load()
    other.save(ledger())
    with pytest.raises(Conflict):
        writer.save(Journal())
    assert store(transport).load().entries


@pytest.mark.parametrize("status", [0, 409, 500])
def test_write_with_lost_response_is_recognized_as_stored(
    api: FakeApiServer, transport: Transport, status: int
) -> None:
    writer = store(transport)
    writer.load()
    for method in ("POST", "PUT"):
        if status:
            api.faults.stale_lists(method, f"{MAPS}*", status)
        else:
            api.faults.cut(method, f"{MAPS}*")
    writer.save(ledger())
    assert store(transport).load().entries
    writer.save(Journal())
    assert not store(transport).load().entries


def test_spurious_conflict_is_retried_once(api: FakeApiServer, transport: Transport) -> None:
    writer = store(transport)
    writer.load()
    for method, content in (("POST", ledger()), ("PUT", Journal())):
        api.faults.refuse(method, f"{MAPS}*", 409)
        writer.save(content)
        assert store(transport).load().entries.keys() == content.entries.keys()
    api.faults.refuse("PUT", f"{MAPS}*", 409, times=2)
    with pytest.raises(Conflict):
        writer.save(ledger())


def test_journal_is_not_stored_without_the_lease(api: FakeApiServer, transport: Transport) -> None:
    with pytest.raises(LeaseLost):
        store(transport, may_act=False).save(Journal())
    assert not api.calls


def test_journal_larger_than_a_configmap_is_not_written(api: FakeApiServer, transport: Transport) -> None:
    noise = random.Random(1)
    full = Journal()
    full.pending_annotations = {
        str(i): PendingAnnotations({"key": noise.randbytes(500).hex()}) for i in range(3_000)
    }
    with pytest.raises(JournalFull):
        store(transport).save(full)
    assert not api.calls


@pytest.mark.parametrize("content", [b"junk", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_corrupt_journal_is_an_error_and_not_an_empty_journal(transport: Transport, content: bytes) -> None:
    damaged = {"journal": base64.b64encode(content).decode()}
    transport.post(MAPS, {"metadata": {"name": "tenure-journal"}, "binaryData": damaged})
    with pytest.raises(JournalUnreadable, match="tenure-system/tenure-journal is damaged: delete it"):
        store(transport).load()
