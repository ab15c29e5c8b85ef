"""Timeline of a cycle: which phase ran when, within which, with which result, as plain tuples.

The solver calls the timeline in whatever process it runs; the timeline has the clock. Tuples can be pickled,
so a solver process returns its timeline with the response. The number of entries is limited per action, so
that the first action does not displace the others.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tenure.solver.framework.observer import Phase
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope

MAX_ENTRIES: Final[Mapping[Phase, int]] = {Phase.POD_GROUP: 24, Phase.SCENARIO: 24, Phase.PLUGIN: 32}
"""Maximum number of entries of each kind per action; the rest is counted."""
NO_PARENT: Final = -1
_OMITTED: Final = -2


class TimelineEntry(NamedTuple):
    """One phase of a cycle. Times in nanoseconds since 1970."""

    parent: int
    """Index of its parent; NO_PARENT for top-level phases."""
    phase: Phase
    name: str
    pod_group: int | None
    """Index of the pod group in the cluster, which is sorted by uid."""
    begin: int
    end: int
    outcome: str
    counts: Mapping[str, int]
    """Number of omitted entries within it, by name."""


class Timeline:
    """Observer of one cycle; `is_detailed`: whether it records more than actions."""

    def __init__(self, *, is_detailed: bool) -> None:
        self.is_detailed = is_detailed
        self.entries: list[TimelineEntry] = []
        self.group_ids: dict[tuple[str, int], str] = {}
        """IDs of decision groups by action and beneficiary, set by the encoder."""
        self._offset = time.time_ns() - time.monotonic_ns()
        self._open = [NO_PARENT]
        self._innermost = NO_PARENT
        """Indices of the open phases that have an entry."""
        self._counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._used: Counter[Phase] = Counter()
        self._called: set[tuple[int, str, str]] = set()

    def begin(self, phase: Phase, name: str = "", pod_group: int | None = None) -> None:
        """Open an entry for a phase within the latest open one."""
        if phase is Phase.ACTION:
            self._used.clear()
        parent = self._open[-1]
        if parent == _OMITTED or self._is_full(phase):
            self._counts[self._innermost][f"{phase}s"] += 1
            self._open.append(_OMITTED)
            return
        self._innermost = len(self.entries)
        self._open.append(self._innermost)
        self.entries.append(TimelineEntry(parent, phase, name, pod_group, self._now(), 0, "", {}))

    def end(self, outcome: str = "") -> None:
        """Close the latest open entry, with its outcome."""
        at = self._open.pop()
        if at != _OMITTED:
            parent, part, name, pod_group, begin, *_ = self.entries[at]
            counts = dict(self._counts.pop(at, ()))
            self.entries[at] = TimelineEntry(
                parent, part, name, pod_group, begin, self._now(), outcome, counts
            )
            self._innermost = parent

    def times_of_actions(self) -> dict[str, int]:
        """Nanoseconds that each action took, by name, in all of its slices."""
        taken = Counter[str]()
        for entry in self.entries:
            if entry.phase is Phase.ACTION:
                taken[entry.name] += entry.end - entry.begin
        return taken

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        """Call a method of a plugin. Its first result within a phase is an entry, the others are counted."""
        sample = (self._open[-1], point, plugin)
        if sample in self._called:
            self._counts[self._innermost]["verdicts"] += 1
            return method(*args)
        self._called.add(sample)
        if self._open[-1] == _OMITTED or self._is_full(Phase.PLUGIN):
            return self.call(point, plugin, method, *args)
        begin, parent = self._now(), self._innermost
        answer = method(*args)
        verdict = f"{point}:{_result_word(answer)}"
        self.entries.append(
            TimelineEntry(parent, Phase.PLUGIN, plugin, None, begin, self._now(), verdict, {})
        )
        return answer

    def _now(self) -> int:
        return time.monotonic_ns() + self._offset

    def _is_full(self, phase: Phase) -> bool:
        """Whether the action may add another entry of this kind; counts it."""
        most = MAX_ENTRIES.get(phase)
        if most is None:
            return False
        self._used[phase] += 1
        return self._used[phase] > most


def _result_word(response: object) -> str:
    """Result of a plugin as one word."""
    if response is None:
        return "yes"
    if isinstance(response, GuardVerdict):
        return "yes" if response.scope is ProtectionScope.NOTHING else response.scope.name.lower()
    code = getattr(response, "code", None)
    return code.name.lower() if code is not None else "answer"
