"""Records: dataclasses that are made in great numbers and never changed.

A frozen dataclass checks at run time that nobody changes it, and pays for it when it is made: each field is
set by a call, fifteen times as slow as an assignment. A cluster has tens of thousands of pods and pod groups,
so for them the type checker alone sees to it.

Those that there are most of have fields that are `Final`, and write their `__init__` out (`init=False`):
then it is compiled, which one that is made at run time is not. To the type checker all are dataclasses like
any other.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen: bool = True, slots: bool, init: bool = True) -> type:
        """A dataclass that compares and hashes by its fields."""
        return dataclass(unsafe_hash=frozen, slots=slots, init=init)


__all__ = ["record"]
