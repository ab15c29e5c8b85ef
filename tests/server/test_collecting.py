"""The garbage collector rests while cycles run, and only then."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from tenure.server.collecting import resting_collector, settling


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_it_rests_for_the_first_of_two_cycles() -> None:
    with resting_collector():
        with resting_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_when_a_cycle_fails() -> None:
    with pytest.raises(RuntimeError), resting_collector():
        raise RuntimeError
    assert gc.isenabled()


def test_who_switched_it_off_finds_it_off() -> None:
    gc.disable()
    with resting_collector():
        pass
    assert not gc.isenabled()


def test_what_settles_is_out_of_its_sight() -> None:
    frozen = gc.get_freeze_count()
    try:
        with settling():
            assert not gc.isenabled()
            kept: list[object] = [[] for _ in range(100)]
        assert gc.get_freeze_count() >= frozen + len(kept)
        assert gc.isenabled()
    finally:
        gc.unfreeze()


class Ring:
    """Garbage that only the collector finds, once nobody holds it."""

    def __init__(self) -> None:
        self.itself = self


def test_what_became_garbage_meanwhile_does_not_settle() -> None:
    gc.disable()  # as beside a cycle
    try:
        with settling():
            ring = Ring()
            gone = weakref.ref(ring)
            del ring
        assert gone() is None
    finally:
        gc.unfreeze()
