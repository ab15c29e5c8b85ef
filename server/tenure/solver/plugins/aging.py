"""Order by priority and wait: long waits precede some higher priorities (semantics R17.16).

    order priority = priority + min(max, step * (wait // interval))

The wait is counted from the creation of the pod group, or from its last eviction, or since nothing held it,
whichever is latest. So a pod group that is created again waits from the beginning, one that was evicted does
not return ahead of others by its age, and one that its owner holds does not age. Whether a pod group may be
evicted for another one, and the order of victims, follow from the priority alone.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.action import waits_since
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import PodGroupOrder
from tenure.solver.plugin_api.profile import Parsers
from tenure.terms.durations import SECOND, parse_duration

NAME: Final = "aging"
_DEFAULTS: Final[Mapping[str, str]] = {"step": "1", "interval": "1h", "max": "10"}
_MOST: Final = 10**9
"""More than any priority of a workload in Kubernetes differs from another one."""


def priorities(text: str) -> int:
    """A number of priorities. Raises ValueError."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST))) or int(text) > _MOST:
        raise ValueError(f"{text!r} is not a number of priorities from 0 to {_MOST}")
    return int(text)


def aging_interval(text: str) -> int:
    """Nanoseconds. Raises ValueError for less than a second."""
    if (interval := parse_duration(text)) < SECOND:
        raise ValueError(f"{text!r} is too short: write at least 1s")
    return interval


class Aging(PodGroupOrder):
    """Pod groups of higher order priority first. Only pod groups without running pods age."""

    ARGUMENTS: ClassVar[Parsers] = {"step": priorities, "interval": aging_interval, "max": priorities}
    DEFAULTS: ClassVar[Mapping[str, str]] = _DEFAULTS

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        values = {**_DEFAULTS, **arguments}
        self._now = context.now
        self._groups, self._tasks = context.cluster.pod_groups, context.cluster.tasks
        self._step, self._most = priorities(values["step"]), priorities(values["max"])
        self._interval = aging_interval(values["interval"])
        self._keys: dict[int, int] = {}

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """Smaller for a higher order priority. The same for the whole cycle: a victim does not age."""
        key = self._keys.get(pod_group)
        if key is None:
            key = self._keys[pod_group] = -(
                self._groups[pod_group].facts.priority + self.added_priority(pod_group)
            )
        return key

    def added_priority(self, pod_group: int) -> int:
        """What its wait adds to its priority."""
        group = self._groups[pod_group]
        for task in group.tasks:
            if self._tasks[task].placement.use:
                return 0
        waited = max(0, self._now - waits_since(group))
        return min(self._most, self._step * (waited // self._interval))
