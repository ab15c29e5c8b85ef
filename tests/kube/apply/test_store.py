"""The ledger survives the adapter, and nobody overwrites another's."""

import base64
import random

import pytest
from tenure.client.kubernetes.failures import Conflict, LeaseLost, LedgerUnreadable
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.ledger.ledger import Ledger
from tenure.client.kubernetes.ledger.notes import Note
from tenure.client.kubernetes.ledger.store import LedgerFull, Store
from tenure.client.kubernetes.transport import Transport
from tenure.v1.decision_pb2 import Patch
from tenure.v1.outcome_pb2 import STEP_RESULT_APPLIED, DuePatch, StepReport

from tests.kube.apply.made import bind, evict, group, hold, remember
from tests.kube.fake.server import FakeApiServer

MAPS = "/api/v1/namespaces/tenure-system/configmaps"


def store(transport: Transport, may_act: bool = True) -> Store:
    return Store(transport, "tenure-system", "tenure", lambda: may_act)


def ledger() -> Ledger:
    made = Ledger()
    entry = Entry(group(evict("a"), hold("h"), bind("b")), tries={"evict-a": 2}, is_told=True)
    entry.note(StepReport(decision_id="evict-a", result=STEP_RESULT_APPLIED))
    entry.stored.append(DuePatch(decision_id="x", patch=Patch(pod_group="v", eviction_count=3)))
    made.add([entry])
    made.memory["victim", "winner"] = remember().patch.remember
    made.notes["v"] = Note({"key": "text"}, has_object=False, seen_seconds=12.5)
    return made


def test_what_is_saved_is_read_back_as_perhaps_sent(transport: Transport) -> None:
    writer = store(transport)
    assert not writer.load().entries
    saved = ledger()
    writer.save(saved)
    read = store(transport).load()
    before, after = saved.entries["g"], read.entries["g"]
    assert (after.group, after.steps, after.tries) == (before.group, before.steps, before.tries)
    assert (after.stored, after.is_told) == (before.stored, before.is_told)
    assert before.is_fresh
    assert not after.is_fresh
    assert (read.memory, read.notes) == (saved.memory, saved.notes)
    assert not read.is_changed


def test_whoever_holds_an_older_copy_gets_a_conflict(transport: Transport) -> None:
    first, second = store(transport), store(transport)
    first.load(), second.load()
    first.save(ledger())
    with pytest.raises(Conflict):
        second.save(Ledger())
    first.save(ledger())


def test_a_copy_that_somebody_deletes_is_created_anew_with_all_that_is_known(transport: Transport) -> None:
    writer = store(transport)
    writer.load()
    writer.save(ledger())
    transport.delete(f"{MAPS}/tenure-ledger", {})
    writer.save(ledger())
    assert store(transport).load().entries
    writer.save(Ledger())


def test_a_copy_that_somebody_else_created_after_one_was_deleted_is_not_overwritten(
    transport: Transport,
) -> None:
    writer, other = store(transport), store(transport)
    writer.load()
    writer.save(Ledger())
    transport.delete(f"{MAPS}/tenure-ledger", {})
    other.load()
    other.save(ledger())
    with pytest.raises(Conflict):
        writer.save(Ledger())
    assert store(transport).load().entries


@pytest.mark.parametrize("status", [0, 409, 500])
def test_what_was_stored_although_the_answer_says_otherwise_is_stored(
    api: FakeApiServer, transport: Transport, status: int
) -> None:
    writer = store(transport)
    writer.load()
    for method in ("POST", "PUT"):
        if status:
            api.faults.lie(method, f"{MAPS}*", status)
        else:
            api.faults.cut(method, f"{MAPS}*")
    writer.save(ledger())
    assert store(transport).load().entries
    writer.save(Ledger())
    assert not store(transport).load().entries


def test_a_conflict_with_nobody_is_tried_once_more(api: FakeApiServer, transport: Transport) -> None:
    writer = store(transport)
    writer.load()
    for method, content in (("POST", ledger()), ("PUT", Ledger())):
        api.faults.refuse(method, f"{MAPS}*", 409)
        writer.save(content)
        assert store(transport).load().entries.keys() == content.entries.keys()
    api.faults.refuse("PUT", f"{MAPS}*", 409, times=2)
    with pytest.raises(Conflict):
        writer.save(ledger())


def test_nothing_is_stored_without_the_lease(api: FakeApiServer, transport: Transport) -> None:
    with pytest.raises(LeaseLost):
        store(transport, may_act=False).save(Ledger())
    assert not api.calls


def test_a_ledger_that_no_configmap_holds_is_not_written(api: FakeApiServer, transport: Transport) -> None:
    noise = random.Random(1)
    full = Ledger()
    full.notes = {str(i): Note({"key": noise.randbytes(500).hex()}) for i in range(3_000)}
    with pytest.raises(LedgerFull):
        store(transport).save(full)
    assert not api.calls


@pytest.mark.parametrize("content", [b"junk", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_ledger_is_named_and_not_taken_for_an_empty_one(
    transport: Transport, content: bytes
) -> None:
    damaged = {"ledger": base64.b64encode(content).decode()}
    transport.post(MAPS, {"metadata": {"name": "tenure-ledger"}, "binaryData": damaged})
    with pytest.raises(LedgerUnreadable, match="tenure-system/tenure-ledger is damaged: delete it"):
        store(transport).load()
