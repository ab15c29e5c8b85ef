"""The rejection that every "no" is made of."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tenure.terms.custom_reason import CustomReason
from tenure.terms.reasons import ReasonCode, dominance


class Rejection(NamedTuple):
    """A "no" as a value. At `until` (nanoseconds), time alone may turn it into a "yes"."""

    code: ReasonCode
    detail: str
    until: int | None = None
    source: str = ""
    custom: CustomReason | None = None
    """What the plugin or action declares beside the code."""
    by_own: bool = False
    """Whether the task's own relations to other pods are why: then its owner may know on which nodes."""
    for_owner: bool = False
    """Whether the owner of the pod group may read the detail: it names no pods, queues or nodes of others."""

    def ends_by(self, time: int | None) -> bool:
        """Whether it ends by a time."""
        return time is not None and self.until is not None and self.until <= time

    def dominates(self, earlier: "Rejection") -> bool:
        """Whether it is the reason instead of an earlier one: of equal codes, the one that ends first."""
        if self.code is not earlier.code:
            return dominance(self.code) <= dominance(earlier.code)
        return self.until is None or earlier.until is None or self.until < earlier.until


NOT_YET: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "terminating pods still use what it needs")
"""Of a placement filter: the task can wait on the node for terminating tasks, but not start now."""


def first_rejection(checks: Sequence[Callable[[int], Rejection | None]], node: int) -> Rejection | None:
    """The first rejection of a node by placement filters; NOT_YET if there is no other one."""
    found: Rejection | None = None
    for check in checks:
        found = check(node) or found
        if not (found is None or found is NOT_YET):
            return found
    return found
