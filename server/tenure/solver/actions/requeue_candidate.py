"""A candidate of the action requeue: a nominated pod group, with what contenders could not use it for."""

from typing import final

from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.solver.model.workload import PodGroup
from tenure.terms.reasons import ReasonCode


@final
class Candidate:
    """What is known about a nominated pod group so far, until its result is set."""

    __slots__ = (
        "group",
        "is_decided",
        "nomination",
        "objection",
        "objector",
        "protected",
        "too_small",
        "tries",
        "unfit",
    )

    def __init__(self, nomination: Nomination, group: PodGroup) -> None:
        self.nomination = nomination
        self.group = group
        self.is_decided = False
        self.tries = 0
        """Contenders that were tried in its place."""
        self.unfit: set[object] = set()
        """Kinds of contenders that may not displace it."""
        self.too_small: set[object] = set()
        """Kinds of contenders that do not fit in its place alone."""
        self.protected: list[Rejection] = []
        """Rejections by guards."""
        self.objection: Rejection | None = None
        """Why the last contender that no guard rejected was not placed in its place."""
        self.objector: int | None = None
        """That contender, if the objection is its own."""

    def exhaust(self) -> None:
        """The search ended before it was evaluated."""
        self.is_decided = True
        self.nomination.result = NominationResult.BUDGET_EXHAUSTED
        self.nomination.code = ReasonCode.BUDGET_EXHAUSTED

    def keep_running(self, result: NominationResult, code: ReasonCode | None, detail: str) -> None:
        """It is not requeued for this reason."""
        self.is_decided = True
        self.nomination.result, self.nomination.code, self.nomination.detail = result, code, detail
        ends = [rejection.until for rejection in self.protected if rejection.until is not None]
        self.nomination.until = min(ends, default=None)

    def requeue(self, contender: PodGroup, others: int) -> None:
        """It was requeued, together with this number of other pod groups."""
        self.is_decided = True
        self.nomination.result, self.nomination.code = NominationResult.REQUEUED, ReasonCode.REQUEUED
        self.nomination.contender = contender.index
        self.nomination.detail = f"{contender.facts.name} receives its capacity"
        if others:
            plural = "" if others == 1 else "s"
            self.nomination.detail += f" and that of {others} other pod group{plural}"

    def reject(self, highest_priority: int | None) -> None:
        """Set why it keeps running. Guards are the reason only if they rejected every contender.

        `highest_priority` is that of the pending pod groups, including those that received capacity.
        """
        if self.objection is not None:
            self.keep_running(NominationResult.NO_BENEFIT, self.objection.code, self.objection.detail)
        elif self.protected:
            first = min(self.protected, key=lambda rejection: (rejection.until is None, rejection.until or 0))
            self.keep_running(NominationResult.PROTECTED, first.code, first.detail)
            if first.code is ReasonCode.MIN_RUNTIME:
                self.nomination.skip_reason = NominationSkipReason.MINRUNTIME_PROTECTED
        else:
            is_served = highest_priority is not None and highest_priority > self.group.facts.priority
            other = "other " if is_served else ""
            detail = f"no {other}pending pod group has higher priority"
            self.keep_running(NominationResult.NO_CONTENDER, None, detail)
