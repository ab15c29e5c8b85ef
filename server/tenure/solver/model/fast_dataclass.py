"""Dataclasses that are fast to create: immutable by type checking only.

A frozen dataclass enforces immutability at run time, which makes creation expensive: each field is set by a
call, fifteen times as slow as an assignment. A cluster has tens of thousands of pods and pod groups, so for
them only the type checker enforces it.

Fields are `Final`, and `__init__` is explicit (`init=False`): then it is compiled, while a generated one is
not. To the type checker they are ordinary dataclasses.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:
    from dataclasses import dataclass

    def fast_dataclass(*, slots: bool, init: bool) -> type:
        """Decorate a dataclass that compares and hashes by its fields."""
        return dataclass(unsafe_hash=True, slots=slots, init=init)


__all__ = ["fast_dataclass"]
