"""Order of the members of a sub group (semantics R3.12)."""

from collections.abc import Mapping
from typing import ClassVar

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session


class SubGroupOrder:
    """Members below their threshold first, then those with the smallest part of it."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def sub_group_key(self, name: str, count: int, threshold: int) -> tuple[bool, bool, float]:
        """Smaller goes first."""
        if count < threshold:
            return (False, False, 0.0)
        if threshold == 0:
            return (True, True, float(count))
        return (True, False, count / threshold)
