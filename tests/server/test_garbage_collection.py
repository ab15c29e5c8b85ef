"""The garbage collector is paused only while cycles run."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from tenure.server.garbage_collection import FREEZES_PER_SCAN, freeze_gc, pause_gc


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_collection_is_paused_for_nested_cycles_and_resumes_after_the_last() -> None:
    with pause_gc():
        with pause_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_resumes_when_a_cycle_fails() -> None:
    with pytest.raises(RuntimeError), pause_gc():
        raise RuntimeError
    assert gc.isenabled()


def test_collection_disabled_by_the_caller_stays_disabled() -> None:
    gc.disable()
    with pause_gc():
        pass
    assert not gc.isenabled()


def test_frozen_objects_are_excluded_from_collection() -> None:
    frozen = gc.get_freeze_count()
    try:
        with freeze_gc():
            assert not gc.isenabled()
            kept: list[object] = [[] for _ in range(100)]
        assert gc.get_freeze_count() >= frozen + len(kept)
        assert gc.isenabled()
    finally:
        gc.unfreeze()


class Ring:
    """A reference cycle, which only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_collected_before_freezing() -> None:
    gc.disable()  # as during a cycle
    try:
        with freeze_gc():
            ring = Ring()
            gone = weakref.ref(ring)
            del ring
        assert gone() is None
    finally:
        gc.unfreeze()


def test_objects_of_other_threads_that_were_frozen_are_collected_in_the_end() -> None:
    """Such an object is alive when a state is pushed, and garbage in a cycle afterwards."""
    gone = []
    try:
        for _ in range(FREEZES_PER_SCAN):
            ring = Ring()
            gone.append(weakref.ref(ring))
            with freeze_gc():
                pass
            del ring
        with freeze_gc():
            assert not all(each() is not None for each in gone)
        for _ in range(FREEZES_PER_SCAN):
            with freeze_gc():
                pass
        assert [each() for each in gone if each() is not None] == []
    finally:
        gc.unfreeze()
