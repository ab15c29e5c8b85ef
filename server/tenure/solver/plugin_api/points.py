"""Every extension point of the solver, in the order in which a cycle meets them.

A plugin subclasses nothing. It is constructed once per session as `Plugin(session, arguments)`, implements
any of the one-method protocols below, reads no clock and keeps no state beyond its session. The framework
collects the bound methods of all plugins, in profile order, into `Chains`; each protocol says when it is
asked and how the answers fold. A "no" is a `Rejection`, never an exception.

Where a state is kept, some pod groups and tasks of its cluster may be nobody's: without a uid, a queue, tasks
or a placement (`resolution.slot_map`). Whoever looks at all of them meets these too.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from tenure.solver.model.decision import Protection, QueueStatus
from tenure.solver.model.node import Node, Zones
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.model.workload import Counts, TaskShape, TopologyConstraint
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Scenario, ScenarioBuilder


class TaskPreFilter(Protocol):
    """Which tasks cannot be placed whatever is evicted? The first reason given for a task wins."""

    def blocked_tasks(self) -> Iterable[tuple[int, str]]:
        """Pending tasks, and what stands in their way; asked once, when the session opens."""


class Gate(Protocol):
    """May this pod group take part in this action at all? First rejection wins."""

    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """Asked by the evicting actions, once per pod group, with the tasks to place, before any search."""


class CapacityGate(Protocol):
    """Do limits and quotas leave room? First rejection wins."""

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """Asked before tasks of a pod group are placed, with what they ask for in sum, in simulations too."""


class QueueOrder(Protocol):
    """Which queue goes first among siblings? Lexicographic over plugins."""

    def queue_key(self, queue: int, request: Share, popped: Share) -> Any:
        """A sortable key; smaller first. `request` is what the queue's next pod group asks for, `popped`
        what its next victim and the victims already taken hold (zero unless victims are ordered). Asked
        again when these change, or when a task below the queue moves. A larger request must not give a
        smaller key.
        """


class PodGroupOrder(Protocol):
    """Which pod group goes first within a queue? Lexicographic; victims in reverse.

    A plugin whose keys follow from the pod group, its tasks and `active` alone, whatever the time, says so by
    a class attribute `HAS_STABLE_KEYS`: then pod groups that stay as they are are not sorted anew in every
    cycle of a state.
    """

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """An integer; smaller first. `active[pod_set]` counts the active allocated tasks of a pod set."""


class TaskOrder(Protocol):
    """Which task goes first within a pod set? Lexicographic, asked once per task and session."""

    def task_key(self, task: int) -> Any:
        """A sortable key; smaller first."""


class SubGroupOrder(Protocol):
    """Which member of a sub group goes first? Lexicographic; evictions in reverse."""

    def sub_group_key(self, name: str, count: int, threshold: int) -> Any:
        """A sortable key; smaller first. `count` is the satisfied members, or the active tasks of a pod
        set; `threshold` the members or tasks that are required.
        """


class NodeFilter(Protocol):
    """May a task of this shape ever run on this node, amounts apart? First rejection wins.

    A plugin whose answers follow from the shape and the node alone says so by a class attribute
    `HAS_STABLE_FITS`: then it is asked once while the nodes and shapes of a state stay as they are.
    """

    def fits(self, shape: TaskShape, node: Node) -> Rejection | None:
        """Asked once per shape and node and session; facts of the snapshot only."""


class PlacementFilter(Protocol):
    """May this task go to this node, beside those who are or will be there? First rejection wins."""

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check of single nodes, for one attempt to place the task; asked with every attempt. None: what
        others do has no say in where this task may go.
        """


class NumaZoneSelector(Protocol):
    """In which NUMA zones of the node does the task go? First plugin that answers."""

    def zones(self, task: int, node: int, soon: bool) -> Zones | None:
        """Zones and amounts; empty when the node does not align the task, None when it would refuse it.
        `soon` counts what terminating tasks leave behind.
        """


class NodeSubsetProvider(Protocol):
    """Within which sets of nodes may a constrained sub group be placed? First plugin that answers."""

    def node_sets(self, constraint: TopologyConstraint, tasks: Sequence[int], nodes: int) -> Iterable[int]:
        """Bit sets of node indices, the most wanted first; each a subset of `nodes`."""


class NodeScore(Protocol):
    """Which node is the best? Sums over plugins; equal sums go by node name."""

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """One score per node, higher is better."""

    def concerns(self, task: int) -> bool:
        """Whether it would score any two nodes differently for this task; if no score but the default four
        does, the node index answers instead of scoring every node.
        """


class GpuScore(Protocol):
    """Which device of the chosen node is the best for a share of a GPU? Sums over plugins."""

    def gpu_score(self, used: float) -> float:
        """Score of a device of which the part `used` (0 to 1) is in use; 0 is a whole free device."""


class SearchListener(Protocol):
    """Told when the search for victims starts to work for a pod group."""

    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        """Asked once per pod group and action, with the tasks that shall find room, before any victim is
        considered: what queues use now is what filters and validators refer to.
        """


class VictimQueueFilter(Protocol):
    """May anybody in this leaf queue be a victim of that pod group? First rejection wins."""

    def allows_victim_queue(self, action: Action, preemptor: int, queue: int) -> Rejection | None:
        """Asked once per leaf queue and search, before any of its pod groups is looked at."""


class VictimFilter(Protocol):
    """May this pod group be a victim of that one? First rejection wins."""

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        """Asked lazily, at most once per pair and search."""


class Guard(Protocol):
    """Is this pod group protected from that one? All are asked; `framework.guards` says what follows."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """What it says of the victim, protected or not; None when it has no say in the action. Asked
        several times per pair, with the facts of the snapshot as the only base.
        """


class GuardCacheKey(Protocol):
    """Who meets the same protection? Lets the answers for one preemptor serve others. A guard without it
    is asked about every pair.
    """

    def guard_cache_key(self, preemptor: int) -> Hashable | None:
        """Preemptors of a kind get the same answers from `guard` for the whole session; None: there is
        nobody like this one, and its own answers may change.
        """


class GuardExpiry(Protocol):
    """Whom may a guard protect for a time only? Who fails is told when the first protection ends; a guard
    without it is asked about every victim to find that out.
    """

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether `guard` may give a verdict with an `until` that still protects any of these, from
        anybody. Must not be False when it may.
        """


class RequeueNominator(Protocol):
    """Which pod groups have run long enough to yield to a more important one? Union over plugins."""

    def nominate(self, action: Action) -> Iterable[Nomination]:
        """Those it puts forward, and those it looked at and does not, with the reason; each at most once.
        Asked once, by the action that requeues.
        """


class ReclaimCap(Protocol):
    """How much may be taken at all? Lets the search skip what the validators would reject."""

    def reclaimable_gpu(self, action: Action, preemptor: int, queue: int) -> tuple[int, int] | None:
        """For victims of this leaf queue: the queue at which a bound holds, and the most GPUs (thousandths)
        that may be taken below it for good; None when nothing bounds it. Must never be too low.
        """


class ScenarioGenerator(Protocol):
    """Which sets of victims are worth simulating? Tried one generator after the other.

    A generator whose first scenario is the first victim of the order alone, if nobody is recorded and it
    leaves room enough, says so by a class attribute `BEGINS_WITH_FIRST_VICTIM`: then that one may be tried
    before the others are looked at.
    """

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """Scenarios in the order in which they shall be simulated; the first that works is taken."""


class ScenarioValidator(Protocol):
    """Is what the simulation found fair? First rejection wins."""

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Asked after a simulation in which the pod group found room, while its moves are in place."""


class MoveListener(Protocol):
    """Keeps totals that follow every move of a task."""

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Called by the ledger for every move and for every reversed one."""


class ProtectionReporter(Protocol):
    """Who may not be touched until when? For the answer, not for the search.

    Where nothing that the caller tells of a pod group changes, its protections should only end as time goes
    by, but for those that come from memories of evictions. A plugin of which that is true says so by a class
    attribute `PROTECTIONS_ONLY_END`: then it is not asked in every cycle of a state about everybody.
    """

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """What protects these running pod groups now, in their order."""


class QueueReporter(Protocol):
    """What is every queue's fair share, and what does it use? For the answer; the first plugin tells."""

    def queue_status(self) -> Iterable[QueueStatus]:
        """One status for each queue, in their order; asked when everything is decided."""
