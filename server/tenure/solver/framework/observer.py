"""Watching a cycle from outside: which parts it has, and how each of them ended.

The solver reads no clock and writes nothing down. It tells an observer when a part begins and ends, and lets
it ask the plugins; what the observer makes of that (spans, times, counts) is its own business, and nothing of
it changes a decision. Parts lie within each other and end in reverse order:

    session                       opening it
    action                        one of the profile
        pod group                 placed, or searched for
            scenario              simulated for it
                plugin            what a plugin said
    fold                          from what was committed to the decision
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, Protocol


class Phase(StrEnum):
    """Kinds of parts of a cycle. The caller of the solver reports decode and encode."""

    DECODE = "decode"
    SESSION = "session"
    ACTION = "action"
    POD_GROUP = "pod_group"
    SCENARIO = "scenario"
    PLUGIN = "plugin"
    FOLD = "fold"
    ENCODE = "encode"


class Observer(Protocol):
    """Told by one thread what happens in one cycle."""

    @property
    def is_detailed(self) -> bool:
        """Whether it wants to hear what happens within actions; if not, nothing there is slowed down."""

    def begin(self, phase: Phase, name: str = "", pod_group: int | None = None) -> None:
        """A part begins, within the one that began last and has not ended."""

    def end(self, outcome: str = "") -> None:
        """The part that began last ends, with one of a few words for what came of it."""

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        """What a plugin's method of an extension point answers: call it, and pass on what it says."""


class _NullObserver:
    """Nobody listens."""

    is_detailed: Final = False

    def begin(self, phase: Phase, name: str = "", pod_group: int | None = None) -> None:
        pass

    def end(self, outcome: str = "") -> None:
        pass

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        return method(*args)


NULL_OBSERVER: Final[Observer] = _NullObserver()


class ObservedPhase:
    """A part that ends with the block, however the block ends."""

    def __init__(self, observer: Observer, phase: Phase, name: str = "") -> None:
        self._observer = observer
        self._phase = phase
        self._name = name

    def __enter__(self) -> None:
        self._observer.begin(self._phase, self._name)

    def __exit__(self, *_: object) -> None:
        self._observer.end()
