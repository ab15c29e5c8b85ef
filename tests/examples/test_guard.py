"""A guard of another package: scope, end and text are enough."""

from collections.abc import Mapping
from typing import ClassVar, Final

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.plugins.guards.preemptibility import PreemptibilityGuard
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

END: Final = NOW + 600 * SECOND


class CheckpointGuard:
    """Protects every pod group while it writes a checkpoint."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        return GuardVerdict(
            "checkpoint", ProtectionScope.ALL, "its checkpoint", END, detail="it writes a checkpoint"
        )


class AllowingGuard(CheckpointGuard):
    """Protects nothing, and is called for every pair."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        return GuardVerdict("allowing", ProtectionScope.NOTHING, "")


class RecordedPreemptibility(PreemptibilityGuard):
    """Records its calls."""

    calls: ClassVar[list[tuple[Action, int]]] = []

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        self.calls.append((action, victim))
        return super().guard(action, preemptor, victim)


def profile(*guards: str) -> Profile:
    """The default plugins and these."""
    default = default_profile()
    return Profile(("allocate", "preempt"), (*default.plugins, *map(PluginConfig, guards)))


def test_protection_with_an_end_delays_the_pod_group_until_then() -> None:
    registry = Registry(BUILT_IN.actions, {**BUILT_IN.plugins, "checkpoint": CheckpointGuard})
    builder = ClusterBuilder().node("n", gpus=1).queue("q", quota=4)
    builder.running("old", queue="q", gpus=1, node="n")
    cluster = builder.pending("new", queue="q", gpus=1, priority=75).build()
    decided = decide(cluster, profile("checkpoint"), registry=registry)
    (outcome,) = decided.outcomes
    assert (decided.groups, decided.next_wake_time) == ((), END)
    assert (outcome.kind, outcome.reason.code, outcome.reason.until, outcome.reason.detail) == (
        OutcomeKind.DELAYED,
        ReasonCode.PROTECTED,
        END,
        "it writes a checkpoint",
    )


@pytest.mark.skipif(not hasattr(PreemptibilityGuard, "__dict__"), reason="a compiled guard has no subclasses")
@pytest.mark.parametrize("guards", [(), ("allowing",)])
def test_other_guards_are_called_once_per_victim_beside_a_guard_that_shares_nothing(
    guards: tuple[str, ...],
) -> None:
    plugins = {**BUILT_IN.plugins, "preemptibility": RecordedPreemptibility, "allowing": AllowingGuard}
    builder = ClusterBuilder().node("n", gpus=4).queue("q", quota=8)
    for name in "abcd":
        builder.running(name, queue="q", gpus=1, node="n")
    for name in ("x", "y", "z"):
        builder.pending(name, queue="q", gpus=1, priority=75)
    calls = RecordedPreemptibility.calls
    calls.clear()
    decided = decide(builder.build(), profile(*guards), registry=Registry(BUILT_IN.actions, plugins))
    assert len(decided.groups) == 3
    assert len(calls) == len(set(calls)) > 0
