"""Records: dataclasses that are made in great numbers and never changed.

A frozen dataclass checks at run time that nobody changes it, and pays for it when it is made: each field is
set by a call, fifteen times as slow as an assignment. A cluster has tens of thousands of pods and pod groups,
so for them the type checker alone sees to it.

Their fields are `Final`, and their `__init__` is written out (`init=False`): then it is compiled, which one
that is made at run time is not. To the type checker they are dataclasses like any other.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:
    from dataclasses import dataclass

    def fast_dataclass(*, slots: bool, init: bool) -> type:
        """A dataclass that compares and hashes by its fields."""
        return dataclass(unsafe_hash=True, slots=slots, init=init)


__all__ = ["fast_dataclass"]
