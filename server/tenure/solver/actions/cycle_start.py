"""The start of a cycle: the session is opened when the first step needs it, on the cluster that is due."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, cast, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.step import StepStart
from tenure.solver.resolution.slot_map import SlotChange

ContextFactory = Callable[[Cluster, WarmStart | None], CycleContext]


@final
class CycleStart:
    """What the steps of a cycle begin with."""

    def __init__(
        self,
        cluster: Cluster,
        warm_start: WarmStart | None,
        open_context: ContextFactory,
        fair_share_actions: AbstractSet[str],
    ) -> None:
        self.cluster = cluster
        """The cluster that is opened if no step opens another one."""
        self.fair_share_actions: Final = fair_share_actions
        """Names of the actions by which queues take back their fair shares."""
        self.warm_start = warm_start
        """What earlier sessions left for that cluster."""
        self._open_context: Final = open_context
        self._context: CycleContext | None = None

    @property
    def context(self) -> CycleContext:
        """The open session, with its search; opened now if no step has opened one."""
        return self._context or self.open(self.cluster, self.warm_start)

    def change(self, cluster: Cluster, change: SlotChange) -> None:
        """Begin with another cluster, which differs by a change."""
        self.cluster = cluster
        self.warm_start = None if self.warm_start is None else self.warm_start.branch(change)

    @property
    def is_open(self) -> bool:
        """Whether a session is open. A session that could not be opened leaves none."""
        return self._context is not None

    def open(self, cluster: Cluster, warm_start: WarmStart | None) -> CycleContext:
        """Open a session on a cluster. One that is open is closed."""
        if self._context is not None:
            self._context.close()
            self._context = None
        self._context = opened = self._open_context(cluster, warm_start)
        return opened


def at_start(function: Callable[[CycleStart], None]) -> Callable[[StepStart], None]:
    """The beginning of a built-in step, which may open the session on another cluster."""
    return cast(Callable[[StepStart], None], function)
