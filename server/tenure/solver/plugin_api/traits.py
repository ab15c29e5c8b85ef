"""Traits: what a plugin guarantees, so that the framework can reuse its results.

A plugin without traits is correct, only slower; every default is safe. A plugin that declares a trait without
meeting its condition causes wrong decisions. Declare traits as the attribute `TRAITS` of the class, or of the
object if they depend on arguments. The framework reads them once per session.
"""

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.action import Action


class Validity(Enum):
    """How long results remain valid."""

    SESSION = 0
    """Until the session ends."""
    FACTS = 1
    """While the facts that the results are based on are unchanged, whatever the time."""


class SameFor(Enum):
    """Preemptors that receive the same verdicts from a guard for the whole session."""

    ANY = 0
    """All preemptors."""
    QUEUE = 1
    """Preemptors of the same queue."""
    KEY = 2
    """Preemptors with the same key from `guard_cache_key`."""
    PAIR = 3
    """None: the guard is called for each pair of a preemptor and a victim."""


class Expiry(Enum):
    """Whether a guard returns verdicts that protect until a time."""

    NEVER = 0
    CHECK = 1
    """As `may_expire` returns for the victims."""
    POSSIBLE = 2


class Ranking(Enum):
    """Node scores whose combined order the node index computes without scoring every node."""

    BIN_PACKING = 0
    """Nodes with the least free capacity first (semantics R3.51)."""
    AVAILABILITY = 1
    """Nodes where the task can start at once first (semantics R3.54)."""
    GPU_SHARING = 2
    """Nodes with a fitting shared device first (semantics R3.55)."""
    RESOURCE_TYPE = 3
    """Nodes without GPUs first, for tasks that request none (semantics R3.53)."""
    STATE = 4
    """Nodes by the rank of their free capacity: `StateRank`. In place of BIN_PACKING and GPU_SHARING."""


NodeState = tuple[int, int, int, tuple[int, ...]]
"""What ranks a node: a class of nodes, free CPU, whole free GPUs, and the free parts (MiB) of shared ones."""


class Traits(NamedTuple):
    """Guarantees of a plugin, by the extension point that they concern."""

    order_keys: Validity = Validity.SESSION
    """`PodGroupOrder`. FACTS: keys depend on the pod group, its tasks and the counts only."""
    node_fits: Validity = Validity.SESSION
    """`NodeFilter`. FACTS: results depend on the shape and the node only."""
    ranks_by: Ranking | None = None
    """`NodeScore`. The standard ranking that the scores implement. The index requires the first four, or
    STATE and AVAILABILITY.
    """
    verdicts: SameFor = SameFor.PAIR
    """`Guard`. Preemptors that receive the same verdicts."""
    expiry: Expiry = Expiry.POSSIBLE
    """`Guard`. Whether a verdict may protect until a time."""
    gates_by_request: bool = False
    """`Gate`, `CapacityGate`. Results have no `until`, and depend on the usage of queues and on the queue,
    priority, preemptibility, opt-outs and requests of a pod group that has no running pods. A smaller usage
    or request is rejected only where a larger one is.
    """
    queue_keys_grow: bool = False
    """`QueueOrder`. More usage or a larger request gives no smaller key, and neither does an amount that is
    used instead of requested, or popped instead of not used.
    """
    protections_only_end: bool = False
    """`ProtectionReporter`. Without changed facts protections only end, apart from those that follow from
    eviction records.
    """
    first_scenario_is_first_victim: bool = False
    """`ScenarioGenerator`. Without recorded victims, the first scenario is the first victim alone, if that
    frees enough.
    """
    victims_in_order: bool = False
    """`VictimOrder`. Its order decides: no other sets of victims are looked for by need."""


SAFE: Final = Traits()
"""Traits of a plugin that declares none."""


class GuardCacheKey(Protocol):
    """Required from a guard with the trait `SameFor.KEY`."""

    def guard_cache_key(self, preemptor: int) -> Hashable | None:
        """Preemptors with equal keys receive equal verdicts. None: verdicts are not shared and may change."""


class GuardExpiry(Protocol):
    """Required from a guard with the trait `Expiry.CHECK`."""

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether a verdict for any of these may have an `until` that still protects. Must not be False if
        one may.
        """


class PlacementKind(Protocol):
    """Optional for a `PlacementFilter`: lets the search reuse that a pod group found no place.

    A filter that may permit later what it refused now, because more is placed then, counts such refusals of
    all pod groups in the attribute `revocable_refusals`. A search with one is not reused.
    """

    def placement_kind(self, pod_group: int) -> Hashable | None:
        """Of pod groups with equal kinds, queues, priorities and requests, the next in the order of the queue
        passes no filter and no gate of the plugin that the one before did not pass, without revocable
        refusals. None: it is like no other.
        """


class ReclaimCap(Protocol):
    """Upper bound on reclaimable GPUs. Lets the search skip what scenario validators would reject."""

    def reclaimable_gpu(self, action: Action, preemptor: int, queue: int) -> tuple[int, int] | None:
        """For victims of this leaf queue: the queue that is bounded, and the most GPUs (thousandths) that may
        be taken below it for good. None: unbounded. Must never be too low.
        """


class ScoreConcerns(Protocol):
    """Optional for a `NodeScore`: lets the node index answer when the scores do not matter."""

    def concerns(self, task: int) -> bool:
        """Whether any two nodes may have different scores for this task."""


class StateRank(Protocol):
    """Required from a `NodeScore` with `Ranking.STATE`: lets the node index keep its order.

    The order of scores is that of the ranks, and all of them are within 999 points. For a task without GPUs,
    nodes without GPUs have a higher rank than all others.
    """

    def node_state(self, node_index: int) -> NodeState:
        """State of a node, which changes only with the free amounts of the node."""

    def request_index(self, shape: TaskShape) -> int:
        """Index of the request of a shape; shapes with the same one have the same ranks."""

    def least(self, request_index: int) -> tuple[int, int]:
        """CPU and number of whole GPUs without which no task with this request fits."""

    def rank(self, request_index: int, state: NodeState) -> int:
        """Rank of nodes in this state; higher is better. Negative: no task with this request fits."""


def traits_of(plugin: Any) -> Traits:
    """Declared traits of a plugin, or the safe ones."""
    if not hasattr(plugin, "TRAITS"):
        return SAFE
    traits: Traits = plugin.TRAITS
    return traits
