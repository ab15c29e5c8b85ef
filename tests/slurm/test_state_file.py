"""What survives the adapter: the journal, memories of jobs and fields of pod groups, for one leader."""

from pathlib import Path

import pytest
from tenure.integration.journal_format import load_journal
from tenure.integration.ports import JournalConflict, JournalUnreadable, LeaseLost
from tenure.slurm.observe.memory import JobMemory
from tenure.slurm.state_file import HostLock, StateFile
from tenure.v1.decision_pb2 import Patch

MEMORY = JobMemory(5, (100, 150), 1, 2, 2, "n1", "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def test_contents_survive(path: Path) -> None:
    state = StateFile(path)
    state.is_listed = lambda uid: True
    assert state.load() == b""
    state.save(b"journal")
    state.store_memories({"7": MEMORY, "8": MEMORY})
    state.store_memories({"8": None})
    assert state.write({"7@100": [Patch(pod_group="7@100", eviction_count=3)]}) == []
    state.close()
    again = StateFile(path)
    assert again.load() == b"journal"
    assert again.memories() == [("7", MEMORY)]
    assert again.fields("7@100").eviction_count == 3
    again.close()


def test_controller_is_remembered(path: Path) -> None:
    state = StateFile(path)
    assert state.boot_time() == 0
    for boot_time in (100, 200):
        state.store_boot_time(boot_time)
    state.close()
    again = StateFile(path)
    assert again.boot_time() == 200
    again.close()


def test_patch_is_stored_once_the_file_has_it(path: Path) -> None:
    state, patch = StateFile(path), Patch(pod_group="7@100", eviction_count=3)
    state.is_listed = lambda uid: uid == "7@100"
    assert not state.is_stored("7@100", [patch])
    state.write({"7@100": [patch], "8@100": [patch]})
    assert state.is_stored("7@100", [patch])
    assert state.fields("8@100") is None
    state.is_listed = lambda uid: False
    state.forget_others()
    assert state.fields("7@100") is None
    state.close()


def test_journal_that_another_adapter_replaced_is_a_conflict(path: Path) -> None:
    first, second = StateFile(path), StateFile(path)
    first.load(), second.load()
    first.save(b"first")
    with pytest.raises(JournalConflict, match="replaced by another adapter"):
        second.save(b"second")
    second.load()
    second.save(b"second")
    first.close(), second.close()


def test_nothing_is_written_without_leadership(path: Path) -> None:
    leads = [True]
    state = StateFile(path, lambda: leads[0])
    state.save(b"journal")
    leads[0] = False
    with pytest.raises(LeaseLost):
        state.save(b"other")
    with pytest.raises(LeaseLost):
        state.store_memories({"7": MEMORY})
    assert (state.load(), state.memories()) == (b"journal", [])
    state.close()


@pytest.mark.parametrize("content", [b"not a database" * 100, b""])
def test_other_file_is_named_and_not_overwritten(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    if content:
        with pytest.raises(JournalUnreadable, match=r"file .*state\.db cannot be used"):
            StateFile(path)
        assert path.read_bytes() == content
    else:
        state = StateFile(path)
        assert load_journal(state).entries == {}
        state.close()


def test_one_process_leads(path: Path) -> None:
    first, second = HostLock(path), HostLock(path)
    assert first.may_act()
    assert not second.may_act()
    first.close()
    assert second.may_act()
    second.close()
