"""Records: frozen dataclasses that are made in great numbers.

A frozen dataclass checks at run time that nobody changes it, and pays for it when it is made: each field is
set by a call, fifteen times as slow as an assignment. A cluster has tens of thousands of pods and pod groups,
so for them the type checker alone sees to it, to which a record is a frozen dataclass like any other.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen: bool, slots: bool) -> type:
        """A dataclass that compares, and hashes if it is frozen, by its fields."""
        return dataclass(unsafe_hash=frozen, slots=slots)


__all__ = ["record"]
