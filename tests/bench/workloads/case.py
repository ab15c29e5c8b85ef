"""Definition of a benchmark case: the request, the expected counts, and the call modes."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

ENDLESS: Final = 2**30
PLAIN_OPTIONS: Final = MappingProxyType(
    {
        "skip_similar_pod_groups": False,
        "max_consolidation_victims": -1,
        "fill_back": "never",
        "max_simulations_per_pod_group": ENDLESS,
        "max_simulations_per_action": ENDLESS,
    }
)
"""Options of the reference's benchmarks: nothing is skipped, no budget ends a search, no victim goes back."""
PLAIN_SEARCH: Final = tuple(
    name for name in SPEEDUPS if name not in ("first_victim", "reclaim_bound", "pruning")
)
"""Speedups of a search that simulates every scenario, as the reference does."""


class CallMode(StrEnum):
    """How a case is called. Times are measured from the request to the response."""

    DECIDE = "decide"
    """`decide` on a decoded cluster: the search alone."""
    COLD = "cold"
    """A call with the whole snapshot: serialize, send, parse, decode, decide, encode, respond."""
    WARM = "warm"
    """Two calls for a pushed state: a delta (one job removed, one added), then `Decide`."""
    AGAIN = "again"
    """The call of the case for an unchanged pushed state."""
    CHURN = "churn"
    """As warm, for many cycles: decisions are applied, and new jobs arrive."""
    WHAT_IF = "what-if"
    """A simulation on a pushed state, with one more job."""
    PLAY = "play"
    """A whole simulated run of a trace: `tenure play`."""
    STARTS = "starts"
    """When pod groups that wait start: `Explain.when_starts`."""


class DecisionCounts(NamedTuple):
    """Counts of a cycle result that can be computed from the solver's result and from the response."""

    bound: int
    """Number of bound pods."""
    reserved: int
    evicted: int
    kinds: Mapping[str, int]
    """Pod groups by kind of outcome."""

    @classmethod
    def from_result(cls, decision: CycleResult) -> "DecisionCounts":
        """Count the result of the solver."""
        groups = decision.groups
        return cls(
            sum(len(group.bindings) for group in groups),
            sum(len(group.reservations) for group in groups),
            sum(len(group.evictions) for group in groups),
            dict(sorted(Counter(outcome.kind.name for outcome in decision.outcomes).items())),
        )

    @classmethod
    def from_response(cls, answer: DecideResponse) -> "DecisionCounts":
        """Count the response of the service."""
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
    """Expected counts, derived by hand or from the reference's assertions; None: the golden file's."""
    ways: tuple[CallMode, ...] = (CallMode.DECIDE,)
    options: Mapping[str, object] = field(default_factory=dict)
    """Options that differ from PLAIN_OPTIONS."""
    is_long: bool = False
    """Whether the case runs only on request."""
    plugins: tuple[PluginConfig, ...] = ()
    """Plugins beside the default ones, or in the place of one with the same name."""

    @property
    def name(self) -> str:
        """WORKLOAD@SIZE."""
        return f"{self.workload}@{self.size}"

    @property
    def profile(self) -> Profile:
        """The profile of the case."""
        options = CycleOptions(**{**PLAIN_OPTIONS, **self.options})  # type: ignore[arg-type]
        default, chosen = default_profile(), {plugin.name: plugin for plugin in self.plugins}
        plugins = {plugin.name: plugin for plugin in default.plugins} | chosen
        return replace(default, actions=self.actions, plugins=tuple(plugins.values()), options=options)


def no_decisions(**kinds: int) -> DecisionCounts:
    """Counts without bound, reserved or evicted pods; pod groups by kind of outcome."""
    return DecisionCounts(0, 0, 0, dict(sorted(kinds.items())))
