"""What a plugin receives: the facts of a cycle, and the state of every move that is tried. Read-only."""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Protocol, final

from tenure.solver.ends import end_of
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.resources import Share
from tenure.solver.plugin_api.action import GuardedActions
from tenure.solver.plugin_api.derived import Derived, Value
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugin_api.profile import CycleOptions


class PluginServices(Protocol):
    """What the session computes for plugins; see `PluginContext`."""

    is_continued: bool

    def settled(self, record: EvictionRecord) -> EvictionRecord:
        """The record with its result."""

    def demand(self, tasks: Collection[int]) -> Share:
        """Requests of tasks."""

    def core(self, pod_group: int) -> frozenset[int]:
        """Core of a pod group."""

    def core_shift(self, pod_group: int, tasks: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Change of a core."""

    def derived(self, spec: "Derived[PluginContext, Value]", context: "PluginContext") -> Value:
        """A derived value, owned by the session."""

    def check_stop(self) -> None:
        """End the cycle when its caller waits no longer."""


@final
class PluginContext:
    """Everything that a plugin may read. Nothing can be changed through it."""

    def __init__(
        self,
        cluster: Cluster,
        ledger: LedgerView,
        options: CycleOptions,
        guarded_actions: GuardedActions,
        eviction_history: Mapping[tuple[int, int], EvictionRecord],
        pod_groups_with_history: AbstractSet[int],
        services: PluginServices,
    ) -> None:
        self.now: Final = cluster.now
        """Time of the snapshot, in nanoseconds since the epoch. Plugins read no clock."""
        self.cluster: Final = cluster
        self.ledger: Final = ledger
        self.options: Final = options
        self.guarded_actions: Final = guarded_actions
        """Actions that evict pod groups for others."""
        self.eviction_history: Final = eviction_history
        """Eviction records by victim and preemptor, including evictions of this cycle."""
        self.pod_groups_with_history: Final = pod_groups_with_history
        """Victims and preemptors of all records."""
        self._services: Final = services

    def settled(self, record: EvictionRecord) -> EvictionRecord:
        """The record with the result of its eviction, as far as it is known."""
        return self._services.settled(record)

    def demand(self, tasks: Collection[int]) -> Share:
        """What tasks request from their queue before they are placed (semantics R1.18)."""
        return self._services.demand(tasks)

    def core(self, pod_group: int) -> frozenset[int]:
        """Tasks of the minimum of a pod group, in the current state of the ledger (semantics R8.30)."""
        return self._services.core(pod_group)

    def core_shift(self, pod_group: int, tasks: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Tasks that enter and leave the core of the pod group when these tasks are placed."""
        return self._services.core_shift(pod_group, tasks)

    def derived(self, spec: "Derived[PluginContext, Value]") -> Value:
        """The value that a constant derives, as it is now. The session owns it until it ends."""
        return self._services.derived(spec, self)

    @property
    def is_continued(self) -> bool:
        """Whether later sessions go on from derived values: then what takes long is built in the first."""
        return self._services.is_continued

    def expected_runtime(self, pod_group: int) -> int | None:
        """Nanoseconds that a pod group is expected to run from its start: its own value, else that of its
        nearest queue. None: neither says one, or its own is not valid.
        """
        return expected_runtime(self.cluster.pod_groups[pod_group], self.cluster.queues)[0].value

    def expected_end(self, pod_group: int) -> int | None:
        """When a running pod group is expected to end, in nanoseconds since the epoch, after `now`: its last
        start plus its expected runtime, at most its time limit; 2, 4, ... times the runtime if it runs
        longer (semantics R17.1). None: it has not started, or says neither.
        """
        return end_of(self.cluster.pod_groups[pod_group], self.cluster.queues, self.now).likely

    def check_stop(self) -> None:
        """To be called in every step of a long loop: ends the cycle when its caller waits no longer."""
        self._services.check_stop()


class PluginFactory(Protocol):
    """A plugin class, or a function that constructs a plugin. Called once per session.

    The attribute `ARGUMENTS` maps the names of arguments to parsers. A plugin without arguments needs none.
    The attribute `REASONS` lists the `CustomReason`s of its rejections and verdicts, if there are any. The
    attribute `STEP` is a `Step` that takes part in every cycle.
    """

    def __call__(self, context: PluginContext, arguments: Mapping[str, str], /) -> object:
        """`arguments` are those of the profile, accepted by their parsers."""
