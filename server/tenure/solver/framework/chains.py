"""Chains: the bound methods of all plugins, one tuple per extension point, sorted once per session."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Final

from tenure.solver.model.rejection import Rejection

Methods = tuple[Callable[..., Any], ...]


@dataclass(slots=True)
class Chains:
    """One tuple of bound methods per extension point, named after the protocol's method."""

    blocked_tasks: Methods = ()
    admits: Methods = ()
    has_capacity: Methods = ()
    queue_key: Methods = ()
    pod_group_key: Methods = ()
    task_key: Methods = ()
    sub_group_key: Methods = ()
    fits: Methods = ()
    allows_placement: Methods = ()
    zones: Methods = ()
    node_sets: Methods = ()
    scores: Methods = ()
    gpu_score: Methods = ()
    on_search_start: Methods = ()
    allows_victim_queue: Methods = ()
    allows_victim: Methods = ()
    guard: Methods = ()
    guard_cache_key: Methods = ()
    may_expire: Methods = ()
    reclaimable_gpu: Methods = ()
    scenarios: Methods = ()
    allows_scenario: Methods = ()
    on_move: Methods = ()
    protections: Methods = ()
    nominate: Methods = ()
    queue_status: Methods = ()
    names: dict[Callable[..., Any], str] = field(default_factory=dict)
    """Name of the plugin behind a bound method."""

    def fill(self, plugins: Iterable[tuple[str, object]]) -> None:
        """The methods of plugins, given with their names, by the extension points that they implement."""
        found: list[list[Callable[..., Any]]] = [[] for _ in POINTS]
        for name, plugin in plugins:
            for place, point in _points_of(plugin):
                method = getattr(plugin, point, None)
                if method is not None:
                    found[place].append(method)
                    self.names[method] = name
        for point, methods in zip(POINTS, found, strict=True):
            if methods:
                setattr(self, point, tuple(methods))

    def clear(self) -> None:
        """Let go of all methods."""
        for point in POINTS:
            setattr(self, point, ())
        self.names.clear()

    def wrap(self, point: str, around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put something around every method of an extension point; it is given the plugin's name as well."""
        methods = tuple(around(self.names[method], method) for method in getattr(self, point))
        self.names.update(zip(methods, map(self.names.__getitem__, getattr(self, point)), strict=True))
        setattr(self, point, methods)

    def first_rejection(
        self, methods: Iterable[Callable[..., Rejection | None]], *args: Any
    ) -> Rejection | None:
        """The first "no" of a chain, stamped with the name of the plugin that said it."""
        for method in methods:
            rejection = method(*args)
            if rejection is not None:
                return self.with_source(rejection, method)
        return None

    def with_source(self, rejection: Rejection, method: Callable[..., Any]) -> Rejection:
        """With the name of the plugin whose method said it."""
        return Rejection(rejection.code, rejection.detail, rejection.until, self.names[method])


POINTS: Final = tuple(point.name for point in fields(Chains) if point.name != "names")
"""Names of all extension points."""

_IndexedPoint = tuple[int, str]
"""An extension point and its place among all."""

_OF_CLASSES: Final[dict[type, tuple[_IndexedPoint, ...]]] = {}
"""Extension points that a class may implement, looked for once: to ask for what is not there takes long."""
_OPEN: Final[dict[type, bool]] = {}
"""Whether what a class makes may have methods of its own, which compiled plugins have not."""


def _points_of(plugin: object) -> tuple[_IndexedPoint, ...]:
    """Extension points that a plugin may implement, by its class or by itself."""
    kind = type(plugin)
    points = _OF_CLASSES.get(kind)
    if points is None:
        points = _OF_CLASSES[kind] = tuple([each for each in enumerate(POINTS) if hasattr(kind, each[1])])
        _OPEN[kind] = hasattr(plugin, "__dict__")
    if not _OPEN[kind]:
        return points
    own = plugin.__dict__
    return tuple([each for each in enumerate(POINTS) if each in points or each[1] in own])
