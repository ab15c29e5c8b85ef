"""A cycle as a list of plain tuples: which part ran when, within which, and what came of it.

The solver tells a timeline what happens, in whatever process it runs; the timeline has the clock. Tuples can
be pickled, so a solver process sends its timeline back with the answer. How long the list can become is
bounded per action, so that the first action leaves room for the others.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tenure.solver.framework.observer import Part
from tenure.solver.model.guard import GuardVerdict, Scope

MOST: Final[Mapping[Part, int]] = {Part.POD_GROUP: 24, Part.SCENARIO: 24, Part.PLUGIN: 32}
"""Entries of each kind that one action gets; the rest is counted."""
NO_PARENT: Final = -1
_LEFT_OUT: Final = -2


class Entry(NamedTuple):
    """One part of a cycle. Times in nanoseconds since 1970."""

    parent: int
    """Its place in the list; NO_PARENT for those at the top."""
    part: Part
    name: str
    pod_group: int | None
    """Index in the cluster, which is sorted by uid."""
    begin: int
    end: int
    outcome: str
    counts: Mapping[str, int]
    """What happened within it and has no entry of its own, by name."""


class Timeline:
    """An observer for one cycle; `is_close` says whether it wants more than actions."""

    def __init__(self, *, is_close: bool) -> None:
        self.is_close = is_close
        self.entries: list[Entry] = []
        self.decided: dict[tuple[str, int], str] = {}
        """Ids of the decision's groups, by action and beneficiary; whoever encodes the decision tells."""
        self._offset = time.time_ns() - time.monotonic_ns()
        self._open = [NO_PARENT]
        self._innermost = NO_PARENT
        """Of the open parts that have an entry."""
        self._counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._used: Counter[Part] = Counter()
        self._asked: set[tuple[int, str, str]] = set()

    def begin(self, part: Part, name: str = "", pod_group: int | None = None) -> None:
        """See Observer."""
        if part is Part.ACTION:
            self._used.clear()
        parent = self._open[-1]
        if parent == _LEFT_OUT or self._is_full(part):
            self._counts[self._innermost][f"{part}s"] += 1
            self._open.append(_LEFT_OUT)
            return
        self._innermost = len(self.entries)
        self._open.append(self._innermost)
        self.entries.append(Entry(parent, part, name, pod_group, self._now(), 0, "", {}))

    def end(self, outcome: str = "") -> None:
        """See Observer."""
        at = self._open.pop()
        if at != _LEFT_OUT:
            parent, part, name, pod_group, begin, *_ = self.entries[at]
            counts = dict(self._counts.pop(at, ()))
            self.entries[at] = Entry(parent, part, name, pod_group, begin, self._now(), outcome, counts)
            self._innermost = parent

    def ask(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        """See Observer. The first answer of a plugin within a part is an entry, the others are counted."""
        sample = (self._open[-1], point, plugin)
        if sample in self._asked:
            self._counts[self._innermost]["verdicts"] += 1
            return method(*args)
        self._asked.add(sample)
        if self._open[-1] == _LEFT_OUT or self._is_full(Part.PLUGIN):
            return self.ask(point, plugin, method, *args)
        begin, parent = self._now(), self._innermost
        answer = method(*args)
        verdict = f"{point}:{_verdict(answer)}"
        self.entries.append(Entry(parent, Part.PLUGIN, plugin, None, begin, self._now(), verdict, {}))
        return answer

    def _now(self) -> int:
        return time.monotonic_ns() + self._offset

    def _is_full(self, part: Part) -> bool:
        """Whether the action has as many entries of the kind as it gets; takes one if not."""
        most = MOST.get(part)
        if most is None:
            return False
        self._used[part] += 1
        return self._used[part] > most


def _verdict(answer: object) -> str:
    """A plugin's answer in a word."""
    if answer is None:
        return "yes"
    if isinstance(answer, GuardVerdict):
        return "yes" if answer.scope is Scope.NOTHING else answer.scope.name.lower()
    code = getattr(answer, "code", None)
    return code.name.lower() if code is not None else "answer"
