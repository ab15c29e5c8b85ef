"""The content of the journal survives the adapter, and a conflict prevents overwriting."""

import base64

import pytest
from tenure.integration.journal_format import load_journal
from tenure.integration.ports import JournalConflict, JournalUnreadable, LeaseLost
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.journal_store import ConfigMapStore

from tests.kubernetes.fake_api_server.server import FakeApiServer

MAPS = "/api/v1/namespaces/tenure-system/configmaps"


def store(transport: Transport, may_act: bool = True) -> ConfigMapStore:
    return ConfigMapStore(transport, "tenure-system", "tenure", lambda: may_act)


def test_save_from_an_outdated_copy_is_a_conflict(transport: Transport) -> None:
    first, second = store(transport), store(transport)
    first.load()
    second.load()
    first.save(b"full")
    with pytest.raises(JournalConflict):
        second.save(b"")
    first.save(b"full")


def test_deleted_configmap_is_recreated_with_the_full_content(transport: Transport) -> None:
    writer = store(transport)
    writer.load()
    writer.save(b"full")
    transport.delete(f"{MAPS}/tenure-journal", {})
    writer.save(b"full")
    assert store(transport).load()
    writer.save(b"")


def test_configmap_recreated_by_another_client_is_not_overwritten(
    transport: Transport,
) -> None:
    writer, other = store(transport), store(transport)
    writer.load()
    writer.save(b"")
    transport.delete(f"{MAPS}/tenure-journal", {})
    other.load()
    other.save(b"full")
    with pytest.raises(JournalConflict):
        writer.save(b"")
    assert store(transport).load()


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
    writer.save(b"full")
    assert store(transport).load()
    writer.save(b"")
    assert not store(transport).load()


def test_spurious_conflict_is_retried_once(api: FakeApiServer, transport: Transport) -> None:
    writer = store(transport)
    writer.load()
    for method, content in (("POST", b"full"), ("PUT", b"")):
        api.faults.refuse(method, f"{MAPS}*", 409)
        writer.save(content)
        assert store(transport).load() == content
    api.faults.refuse("PUT", f"{MAPS}*", 409, times=2)
    with pytest.raises(JournalConflict):
        writer.save(b"full")


def test_journal_is_not_stored_without_the_lease(api: FakeApiServer, transport: Transport) -> None:
    with pytest.raises(LeaseLost):
        store(transport, may_act=False).save(b"")
    assert not api.calls


@pytest.mark.parametrize("content", [b"junk", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_corrupt_journal_is_an_error_and_not_an_empty_journal(transport: Transport, content: bytes) -> None:
    damaged = {"journal": base64.b64encode(content).decode()}
    transport.post(MAPS, {"metadata": {"name": "tenure-journal"}, "binaryData": damaged})
    with pytest.raises(JournalUnreadable, match="tenure-system/tenure-journal is corrupt; delete it"):
        load_journal(store(transport))
