"""A guard from another package needs only a scope, an end and a text."""

from collections.abc import Mapping
from typing import ClassVar, Final

import pytest
from tenure.client import Client
from tenure.client.snapshot_file import Format, decode
from tenure.codec.engine import Engine
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
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
from tenure.v1.explain_pb2 import ExplainRequest

from tests.examples.full_node import SNAPSHOT
from tests.server.servers import run_server

END: Final = NOW + 600 * SECOND


class CheckpointGuard:
    """Protects every pod group that is writing a checkpoint."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        return GuardVerdict(ProtectionScope.ALL, "its checkpoint", END, "it writes a checkpoint")


class AllowingGuard(CheckpointGuard):
    """Protects no pod group, and is called for every pair."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        return GuardVerdict(ProtectionScope.NOTHING, "")


class RecordedPreemptibility(PreemptibilityGuard):
    """Records its calls."""

    calls: ClassVar[list[tuple[Action, int]]] = []

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        self.calls.append((action, victim))
        return super().guard(action, preemptor, victim)


def profile(*guards: str) -> Profile:
    """The default profile with these additional plugins."""
    default = default_profile()
    return Profile(("allocate", "preempt"), (*default.plugins, *map(PluginConfig, guards)))


def test_protection_with_an_end_delays_the_pod_group_until_then() -> None:
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "checkpoint": CheckpointGuard})
    builder = ClusterBuilder().node("n", gpus=1).queue("q", quota=4)
    builder.running("old", queue="q", gpus=1, node="n")
    cluster = builder.pending("new", queue="q", gpus=1, priority=75).build()
    decided = answer(cluster, profile("checkpoint"), registry=registry)
    (outcome,) = decided.outcomes
    assert (decided.groups, decided.next_wake_time) == ((), END)
    assert (outcome.kind, outcome.reason.code, outcome.reason.until, outcome.reason.detail) == (
        OutcomeKind.DELAYED,
        ReasonCode.PROTECTED,
        END,
        "it writes a checkpoint",
    )


@pytest.fixture
def calls() -> list[tuple[Action, int]]:
    """Calls of the preemptibility guard."""
    RecordedPreemptibility.calls.clear()
    return RecordedPreemptibility.calls


PLUGINS: Final = {**BUILT_IN.plugins, "allowing": AllowingGuard, "checkpoint": CheckpointGuard}


def preemptors() -> Cluster:
    """Three pending and four running pod groups of one queue."""
    builder = ClusterBuilder().node("n", gpus=4).queue("q", quota=8)
    for name in "abcd":
        builder.running(name, queue="q", gpus=1, node="n", started_ago="1h")
    for name in ("x", "y", "z"):
        builder.pending(name, queue="q", gpus=1, priority=75)
    return builder.build()


@pytest.mark.interpreted
def test_preemptibility_is_called_as_often_with_an_unshared_guard_as_without(
    calls: list[tuple[Action, int]],
) -> None:
    registry = Registry(
        actions=BUILT_IN.actions, plugins={**PLUGINS, "preemptibility": RecordedPreemptibility}
    )
    counts = []
    for guards in ((), ("allowing",)):
        calls.clear()
        assert len(answer(preemptors(), profile(*guards), registry=registry).groups) == 3
        counts.append(len(calls))
    assert counts == [5, 5]


@pytest.mark.interpreted
def test_preemptibility_is_called_once_per_victim_beside_a_guard_that_protects_pairs(
    calls: list[tuple[Action, int]],
) -> None:
    registry = Registry(
        actions=BUILT_IN.actions, plugins={**PLUGINS, "preemptibility": RecordedPreemptibility}
    )
    decided = answer(preemptors(), profile("checkpoint"), registry=registry)
    assert [outcome.kind for outcome in decided.outcomes] == [OutcomeKind.DELAYED] * 3
    assert len(calls) == len(set(calls)) == 4


class RivalGuard(CheckpointGuard):
    """Protects every pod group permanently from the first pending pod group."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        scope = ProtectionScope.ALL if preemptor == 4 else ProtectionScope.NOTHING
        return GuardVerdict(scope, "its rival")


def test_protection_from_one_preemptor_does_not_stop_similar_ones() -> None:
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "rival": RivalGuard})
    decided = answer(preemptors(), profile("rival"), registry=registry)
    assert [(outcome.kind, outcome.reason.code) for outcome in decided.outcomes] == [
        (OutcomeKind.WAITING_FOR_CAPACITY, ReasonCode.NO_CAPACITY),
        (OutcomeKind.WAITING_FOR_VICTIMS, ReasonCode.VICTIMS_EVICTED),
        (OutcomeKind.WAITING_FOR_VICTIMS, ReasonCode.VICTIMS_EVICTED),
    ]


def test_operators_read_the_text_of_the_guard() -> None:
    engine = Engine(profile("checkpoint"), Registry(actions=BUILT_IN.actions, plugins=PLUGINS))
    snapshot = decode(SNAPSHOT.encode(), Format.YAML)
    with run_server(engine) as (_, address), Client(address, timeout=20) as client:
        for question in (
            {"why_pending": {"pod_group": "new"}},
            {"why_not_victim": {"pod_group": "old", "preemptor": "new"}},
        ):
            explanation = client.explain(ExplainRequest(snapshot=snapshot, **question)).explanation
            assert "checkpoint: it writes a checkpoint" in explanation.operator
            assert "it writes a checkpoint" not in explanation.public
