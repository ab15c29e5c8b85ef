"""Priorities by name of their class (semantics R1.81)."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tenure.client.kubernetes.objects.node import PriorityClass

_NO_CLASS: Final = 50
"""Priority where no class is named that exists, and none is the cluster's default."""


class Priorities(NamedTuple):
    """Values by name, and that of whoever names none that exists."""

    values: Mapping[str, int] = {}
    default: int = _NO_CLASS

    @classmethod
    def of(cls, classes: Iterable[PriorityClass]) -> "Priorities":
        """From the classes of a cluster; of several defaults the one with the first name counts."""
        known = sorted(classes, key=lambda one: one.metadata.name)
        default = next((one.value for one in known if one.global_default), _NO_CLASS)
        return cls({one.metadata.name: one.value for one in known}, default)

    def of_class(self, name: str, doubts: list[str]) -> int:
        """The priority of a class; one that does not exist is a doubt."""
        if name and name not in self.values:
            doubts.append(f"there is no priority class {name!r}: its priority is {self.default}")
        return self.values.get(name, self.default)
