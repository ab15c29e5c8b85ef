"""The ledger survives the adapter, and nobody overwrites another's."""

import base64
import random

import pytest
from tenure.client.kubernetes.failures import Conflict, LeaseLost, LedgerUnreadable, Unreachable
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.ledger.ledger import Ledger
from tenure.client.kubernetes.ledger.notes import Note
from tenure.client.kubernetes.ledger.store import LedgerFull, Store
from tenure.client.kubernetes.transport import Transport
from tenure.v1.decision_pb2 import Patch
from tenure.v1.outcome_pb2 import STEP_RESULT_APPLIED, DuePatch, StepReport

from tests.kube.apply.answering import Answer, ApiServer, Call
from tests.kube.apply.made import bind, evict, group, hold, remember

Served = tuple[ApiServer, Transport]
MAPS = "/api/v1/namespaces/tenure-system/configmaps"
MAP = f"{MAPS}/tenure-ledger"


class Stored:
    """One ConfigMap by the rules of an API server."""

    def __init__(self) -> None:
        self.now: dict[str, object] | None = None
        self.version = 0
        self.hangs_up_after = False

    def __call__(self, call: Call) -> Answer | None:
        if call.method == "GET":
            return Answer(200, self.now) if self.now else None
        is_stale = bool(self.version) and call.body["metadata"].get("resourceVersion") != str(self.version)
        if is_stale or (call.method == "POST") == (self.now is not None):
            return Answer(409)
        self.version += 1
        self.now = {**call.body, "metadata": {**call.body["metadata"], "resourceVersion": str(self.version)}}
        return Answer(0) if self.hangs_up_after else Answer(200, self.now)


@pytest.fixture
def stored(served: Served) -> Stored:
    rule = Stored()
    served[0].rules.append(rule)
    return rule


def store(served: Served, may_act: bool = True) -> Store:
    return Store(served[1], "tenure-system", "tenure", lambda: may_act)


def ledger() -> Ledger:
    made = Ledger()
    entry = Entry(group(evict("a"), hold("h"), bind("b")), tries={"evict-a": 2}, is_told=True)
    entry.note(StepReport(decision_id="evict-a", result=STEP_RESULT_APPLIED))
    entry.stored.append(DuePatch(decision_id="x", patch=Patch(pod_group="v", eviction_count=3)))
    made.add([entry])
    made.memory["victim", "winner"] = remember().patch.remember
    made.notes["v"] = Note({"key": "text"}, has_object=False, seen_seconds=12.5)
    return made


@pytest.mark.usefixtures("stored")
def test_what_is_saved_is_read_back_as_perhaps_sent(served: Served) -> None:
    writer = store(served)
    assert not writer.load().entries
    saved = ledger()
    writer.save(saved)
    read = store(served).load()
    before, after = saved.entries["g"], read.entries["g"]
    assert (after.group, after.steps, after.tries) == (before.group, before.steps, before.tries)
    assert (after.stored, after.is_told) == (before.stored, before.is_told)
    assert before.is_fresh
    assert not after.is_fresh
    assert (read.memory, read.notes) == (saved.memory, saved.notes)
    assert not read.is_changed


@pytest.mark.usefixtures("stored")
def test_whoever_holds_an_older_copy_gets_a_conflict(served: Served) -> None:
    first, second = store(served), store(served)
    first.load(), second.load()
    first.save(ledger())
    with pytest.raises(Conflict):
        second.save(Ledger())
    first.save(ledger())


def test_a_copy_that_was_stored_without_an_answer_is_no_obstacle_to_the_next(
    served: Served, stored: Stored
) -> None:
    writer = store(served)
    writer.load()
    stored.hangs_up_after = True
    with pytest.raises(Unreachable):
        writer.save(ledger())
    stored.hangs_up_after = False
    writer.save(Ledger())
    assert not store(served).load().entries


def test_nothing_is_stored_without_the_lease(served: Served) -> None:
    with pytest.raises(LeaseLost):
        store(served, may_act=False).save(Ledger())
    assert not served[0].calls


def test_a_ledger_that_no_configmap_holds_is_not_written(served: Served) -> None:
    noise = random.Random(1)
    full = Ledger()
    full.notes = {str(i): Note({"key": noise.randbytes(500).hex()}) for i in range(3_000)}
    with pytest.raises(LedgerFull):
        store(served).save(full)
    assert not served[0].calls


@pytest.mark.parametrize("content", [b"junk", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_ledger_is_named_and_not_taken_for_an_empty_one(served: Served, content: bytes) -> None:
    body = {
        "metadata": {"resourceVersion": "1"},
        "binaryData": {"ledger": base64.b64encode(content).decode()},
    }
    served[0].on("GET", MAP, Answer(200, body))
    with pytest.raises(LedgerUnreadable, match="tenure-system/tenure-ledger is damaged: delete it"):
        store(served).load()
