"""Observers of a cycle: its phases, and how each of them ended.

The solver reads no clock and records nothing. It notifies an observer when a phase begins and ends, and calls
plugins through it. The observer makes spans, times and counts of that; it does not change decisions. Phases
are nested and end in reverse order:

    session                       the session is opened
    action                        an action of the profile
        pod group                 a pod group is placed, or victims are searched for it
            scenario              a scenario is simulated
                plugin            a plugin is called
    fold                          commits become decisions
    diagnose                      why pod groups wait
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, Protocol


class Phase(StrEnum):
    """Phases of a cycle. The caller of the solver reports decode and encode."""

    DECODE = "decode"
    SESSION = "session"
    ACTION = "action"
    POD_GROUP = "pod_group"
    SCENARIO = "scenario"
    PLUGIN = "plugin"
    FOLD = "fold"
    DIAGNOSE = "diagnose"
    ENCODE = "encode"


class Observer(Protocol):
    """Receives the phases of one cycle, from one thread."""

    @property
    def is_detailed(self) -> bool:
        """Whether to report phases within actions. If not, nothing is wrapped, and nothing is slower."""

    def begin(self, phase: Phase, name: str = "", pod_group: int | None = None) -> None:
        """A phase begins, within the latest one that has not ended."""

    def end(self, outcome: str = "") -> None:
        """The latest phase ends, with one of a few words for its outcome."""

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        """Call the method of a plugin for an extension point, and return its result."""


class _NullObserver:
    """Ignores everything."""

    is_detailed: Final = False

    def begin(self, phase: Phase, name: str = "", pod_group: int | None = None) -> None:
        pass

    def end(self, outcome: str = "") -> None:
        pass

    def call(self, point: str, plugin: str, method: Callable[..., Any], *args: Any) -> Any:
        return method(*args)


NULL_OBSERVER: Final[Observer] = _NullObserver()


class ObservedPhase:
    """A phase that ends with the block, also after an exception."""

    def __init__(self, observer: Observer, phase: Phase, name: str = "") -> None:
        self._observer = observer
        self._phase = phase
        self._name = name

    def __enter__(self) -> None:
        self._observer.begin(self._phase, self._name)

    def __exit__(self, *_: object) -> None:
        self._observer.end()
