"""Expected runtime and requeue settings of pod groups and queues (semantics R12.1)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from tenure.terms.reasons import ReasonCode


class ParsedValue(NamedTuple):
    """A duration or time in nanoseconds, if set. `problem`: why a set value is invalid."""

    value: int | None = None
    problem: str = ""

    @property
    def is_set(self) -> bool:
        """Whether a value was given, valid or not."""
        return self.value is not None or bool(self.problem)


class RequeueSettings(NamedTuple):
    """Requeue settings of a pod group itself."""

    expected_runtime: ParsedValue = ParsedValue()
    delay: ParsedValue = ParsedValue()
    not_before: ParsedValue = ParsedValue()
    min_runtime: ParsedValue = ParsedValue()
    """Not of requeue alone: guards of all actions read it."""


NO_TERMS: Final = RequeueSettings()


class NominationSkipReason(IntEnum):
    """Why a pod group is not nominated; names in lower case are the metric label (semantics R12.31)."""

    COOLDOWN = 1
    MISSING_START = 2
    INVALID_DURATION = 3
    NOT_RUNNING = 4
    NOT_PREEMPTIBLE = 5
    MINRUNTIME_PROTECTED = 6
    CLOCK_SKEW = 7
    INVALID_NOT_BEFORE = 8


class NominationResult(IntEnum):
    """Result of nomination for a pod group with an expected runtime; numbers as on the wire."""

    NOT_DUE = 1
    SKIPPED = 2
    NO_CONTENDER = 3
    NO_BENEFIT = 4
    PROTECTED = 5
    REQUEUED = 6
    BUDGET_EXHAUSTED = 7
    ALREADY_MOVED = 8


class NominationSkip(NamedTuple):
    """A plugin that evaluated a pod group and did not nominate it, and why."""

    plugin: str
    reason: NominationSkipReason
    detail: str


@dataclass(slots=True)
class Nomination:
    """Nomination of one pod group.

    Created by nominators, merged by the session, completed by the action requeue.
    """

    pod_group: int
    result: NominationResult
    detail: str = ""
    skip_reason: NominationSkipReason | None = None
    until: int | None = None
    """When time alone may change the result."""
    overrun: int = 0
    """Nanoseconds past the expected runtime."""
    nominated_by: tuple[str, ...] = ()
    """Plugins in the order of the profile, set by the session; for a skip, those that evaluated it."""
    skips: tuple[NominationSkip, ...] = ()
    """Plugins that skipped it, with their reasons, set by the session; others may have nominated it."""
    contender: int | None = None
    not_before: int | None = None
    code: ReasonCode | None = None
    """Why a candidate was not requeued, or that it was."""

    @property
    def is_candidate(self) -> bool:
        """Whether a nominator nominated it."""
        return self.result not in (NominationResult.NOT_DUE, NominationResult.SKIPPED)


class Nominations(NamedTuple):
    """Nominations of all plugins, merged."""

    rows: list[Nomination]
    """One per pod group, in the order in which plugins first evaluated them."""
    evaluated: dict[str, set[int]]
    """Pod groups by plugin that evaluated them."""
