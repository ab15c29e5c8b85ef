"""What a benchmark is: a question, what must come out of it, and the ways in which it is asked."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, Profile
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

ENDLESS: Final = 2**30
PLAIN_OPTIONS: Final = MappingProxyType(
    {
        "skip_similar_pod_groups": False,
        "max_consolidation_victims": -1,
        "max_simulations_per_pod_group": ENDLESS,
        "max_simulations_per_action": ENDLESS,
    }
)
"""As the reference's benchmarks run: nothing is skipped and no budget ends a search."""
PLAIN_SEARCH: Final = tuple(
    name for name in SPEEDUPS if name not in ("first_victim", "reclaim_bound", "pruning")
)
"""Speedups of a search that simulates every scenario, as the reference does."""


class CallMode(StrEnum):
    """How a case is asked. Each is timed from the question to the answer."""

    DECIDE = "decide"
    """`decide` on a decoded cluster: the search alone."""
    COLD = "cold"
    """A call with the whole snapshot: serialize, send, parse, decode, decide, encode, answer."""
    WARM = "warm"
    """Two calls about a pushed state: a delta (one job goes, one comes), then the decision on it."""
    AGAIN = "again"
    """The same call about a pushed state that did not change."""
    CHURN = "churn"
    """As warm, many cycles long: what was decided is carried out, and something else comes."""
    WHAT_IF = "what-if"
    """A simulation about a pushed state: one more job, and what would become of it."""


class DecisionCounts(NamedTuple):
    """What came out, in numbers that the solver's decision and the answer on the wire share."""

    bound: int
    """Pods."""
    reserved: int
    evicted: int
    kinds: Mapping[str, int]
    """Pod groups by kind of outcome."""

    @classmethod
    def from_result(cls, decision: CycleResult) -> "DecisionCounts":
        """Of what the solver returns."""
        groups = decision.groups
        return cls(
            sum(len(group.bindings) for group in groups),
            sum(len(group.reservations) for group in groups),
            sum(len(group.evictions) for group in groups),
            dict(sorted(Counter(outcome.kind.name for outcome in decision.outcomes).items())),
        )

    @classmethod
    def from_response(cls, answer: DecideResponse) -> "DecisionCounts":
        """Of what the service answers."""
        steps = Counter(step.WhichOneof("kind") for group in answer.groups for step in group.decisions)
        kinds = Counter(pb.OutcomeKind.Name(outcome.kind) for outcome in answer.outcomes)
        named = {name.removeprefix("OUTCOME_KIND_"): count for name, count in sorted(kinds.items())}
        return cls(steps["bind"], steps["reserve"], steps["evict"], named)


@dataclass(frozen=True)
class Case:
    """A workload at one size."""

    workload: str
    size: int | str
    build: Callable[[], ClusterSnapshot]
    actions: tuple[str, ...]
    expected: DecisionCounts | None
    """What must come out by reasoning, or as the reference asserts; None: what the golden file says."""
    ways: tuple[CallMode, ...] = (CallMode.DECIDE,)
    options: Mapping[str, object] = field(default_factory=dict)
    """Other than PLAIN_OPTIONS."""
    is_long: bool = False
    """Whether it only runs when it is asked for."""

    @property
    def name(self) -> str:
        """WORKLOAD@SIZE."""
        return f"{self.workload}@{self.size}"

    @property
    def profile(self) -> Profile:
        """The profile it is decided with."""
        options = CycleOptions(**{**PLAIN_OPTIONS, **self.options})  # type: ignore[arg-type]
        return replace(default_profile(), actions=self.actions, options=options)


def no_decisions(**kinds: int) -> DecisionCounts:
    """Nobody is bound, held or evicted; pod groups by kind of outcome."""
    return DecisionCounts(0, 0, 0, dict(sorted(kinds.items())))
