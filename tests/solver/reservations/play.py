"""Plays cycles on one cluster: decisions are carried out, pod groups arrive, and end by their time limits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import PLANNED_STARTS, PlannedStart
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.inherited_settings import time_limit
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import DEFAULT_PLUGINS
from tenure.terms.durations import SECOND

MINUTE: Final = 60 * SECOND
_ENDED: Final = Placement(TaskStatus.SUCCEEDED)
_GATED: Final = Placement(TaskStatus.GATED)


def profile_with(actions: Sequence[str] = ("allocate", "reservation"), **arguments: str) -> Profile:
    """The default plugins and reservations, for which nothing has to wait."""
    plugins = tuple(map(PluginConfig, DEFAULT_PLUGINS))
    return Profile(tuple(actions), (*plugins, PluginConfig("reservation", {"minWait": "0s"} | arguments)))


class Play:
    """A cluster in time. The clock counts minutes from the snapshot that was built."""

    def __init__(self, cluster: Cluster, profile: Profile, absent: Sequence[str] = ()) -> None:
        """`absent` are pod groups that arrive later."""
        self.cluster, self.profile = cluster, profile
        self._begin = cluster.now
        self._set(absent, _GATED)
        self.result: CycleResult | None = None

    def arrive(self, *names: str) -> None:
        """Pods of these pod groups wait from now on."""
        self._set(names, Placement(TaskStatus.PENDING))

    def end(self, *names: str) -> None:
        """Pod groups end."""
        self._set(names, _ENDED)

    def cycle(self, minutes: float, ends_by_limits: bool = True) -> CycleResult:
        """Decide at a time; what has reached its time limit by then has ended."""
        self._set_now(self._begin + round(minutes * MINUTE))
        if ends_by_limits:
            self._end_by_limits()
        self.result = answer(self.cluster, self.profile)
        self.cluster = apply_decisions(self.cluster, self.result, 0)
        return self.result

    def _end_by_limits(self) -> None:
        limits = {g.facts.uid: time_limit(g, self.cluster.queues) for g in self.cluster.pod_groups}
        over = [
            group.facts.uid
            for group in self.cluster.pod_groups
            if self.is_running(group.facts.uid)
            and (limit := limits[group.facts.uid]) is not None
            and group.facts.last_start is not None
            and group.facts.last_start + limit <= self.cluster.now
        ]
        self.end(*over)

    def is_running(self, name: str) -> bool:
        """Whether all pods of a pod group run."""
        group = next(group for group in self.cluster.pod_groups if group.facts.uid == name)
        tasks = [self.cluster.tasks[task] for task in group.tasks]
        return all(task.placement.status is TaskStatus.RUNNING for task in tasks)

    def running(self) -> list[str]:
        """Names of all pod groups that run."""
        return sorted(g.facts.uid for g in self.cluster.pod_groups if self.is_running(g.facts.uid))

    def planned_start(self, name: str) -> PlannedStart | None:
        """The planned start of a pod group."""
        return next((row for row in self.cluster.carried.rows(PLANNED_STARTS) if row.pod_group == name), None)

    def start(self, name: str) -> tuple[float | None, str] | None:
        """Planned start in minutes, and its certainty; None: it has none."""
        row = self.planned_start(name)
        if row is None or row.paused_until is not None:
            return None
        return self.minutes(row.start), row.certainty.name

    def minutes(self, time: int | None) -> float | None:
        """A time on the clock of this play."""
        return None if time is None else (time - self._begin) / MINUTE

    def nodes(self, name: str) -> Mapping[str, int]:
        """Pods of a reservation by node."""
        row = self.planned_start(name)
        return {self.cluster.nodes[p.node].facts.name: p.pods for p in (row.places if row else ())}

    def _set(self, names: Sequence[str], placement: Placement) -> None:
        tasks = [
            replace(task, placement=placement)
            if self.cluster.pod_groups[task.pod_group].facts.uid in names
            else task
            for task in self.cluster.tasks
        ]
        self.cluster = replace(self.cluster, tasks=PersistentVector(tasks))

    def _set_now(self, now: int) -> None:
        self.cluster = replace(self.cluster, now=now)
