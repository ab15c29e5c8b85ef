"""An action from another package: quotas, limits and guards apply, reports and explanations include it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.client.snapshot_file import Format, decode
from tenure.codec.engine import Engine
from tenure.server.capabilities import build_capabilities
from tenure.server.explain import Explainer
from tenure.server.installed import installed_registry
from tenure.server.settings import ServerLimits
from tenure.server.telemetry.cycle_metrics import count
from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.actions.eviction_loop import evict_for_pending
from tenure.solver.actions.preempt import LowerPriority
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import Atomicity, OutcomeKind
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.plugin_api.profile import PluginConfig, Profile, profile_of, profile_text
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, check_profile, default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decide_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest

from tests.examples.full_node import SNAPSHOT
from tests.examples.installation import install
from tests.server.telemetry.captured_telemetry import count_metrics

PACKAGE: Final = Path(__file__).parent / "timeslice"
ACTIONS: Final = ("allocate", "timeslice")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Plugins and actions that a server loads when the package is installed."""
    install(PACKAGE, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    installed_registry.cache_clear()
    yield installed_registry()
    installed_registry.cache_clear()


def profile(*plugins: PluginConfig) -> Profile:
    """The default profile with time slicing after allocate, and with these additional plugins."""
    default = default_profile()
    listed = {plugin.name for plugin in plugins}
    kept = tuple(plugin for plugin in default.plugins if plugin.name not in listed)
    return Profile(ACTIONS, (*kept, *plugins))


def full_queue(quota: int = 4, limit: int = 4, **options: Any) -> ClusterBuilder:
    """`old`, which started long ago, uses all the capacity that `new` needs. `new` has higher priority."""
    builder = ClusterBuilder().node("n", gpus=2).queue("q", quota=quota, limit=limit)
    return builder.running("old", queue="q", gpus=2, node="n", **{"started_ago": "2h", **options})


def test_only_pod_groups_whose_slice_is_over_are_evicted(registry: Registry) -> None:
    for started, evicted in (("2h", 1), ("30m", 0)):
        cluster = full_queue(started_ago=started).pending("new", queue="q", priority=75, gpus=2).build()
        groups = answer(cluster, profile(), registry=registry).groups
        assert [(group.action, len(group.evictions)) for group in groups] == [("timeslice", 1)][:evicted]


@pytest.mark.parametrize(
    ("preemptibility", "expected"),
    [
        (Preemptibility.PREEMPTIBLE, OutcomeKind.WAITING_FOR_VICTIMS),
        (Preemptibility.NON_PREEMPTIBLE, OutcomeKind.WAITING_FOR_QUOTA),
    ],
)
def test_quota_holds_for_non_preemptible_pod_groups(
    registry: Registry, preemptibility: Preemptibility, expected: OutcomeKind
) -> None:
    cluster = (
        full_queue(quota=0)
        .pending("new", queue="q", priority=75, gpus=2, preemptibility=preemptibility)
        .build()
    )
    (outcome,) = answer(cluster, profile(), registry=registry).outcomes
    assert outcome.kind is expected


def test_limit_holds(registry: Registry) -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q", quota=0, limit=2)
    builder.running("old", queue="q", gpus=1, node="n", started_ago="2h")
    cluster = builder.pending("new", queue="q", priority=75, gpus=3).build()
    decided = answer(cluster, profile(), registry=registry)
    assert (decided.groups, decided.outcomes[0].reason.code) == ((), ReasonCode.OVER_LIMIT)


def test_guards_have_a_say_and_pod_groups_can_opt_out(registry: Registry) -> None:
    guarded = profile(PluginConfig("minruntime", {"defaultPreemptMinRuntime": "3h", "actions": "timeslice"}))
    assert check_profile(guarded, registry) == []
    cluster = full_queue().pending("new", queue="q", priority=75, gpus=2).build()
    decided = answer(cluster, guarded, registry=registry)
    assert (decided.groups, decided.outcomes[0].kind) == ((), OutcomeKind.DELAYED)
    assert "timeslice" in decided.protections[0].actions
    opted_out = (
        full_queue(opt_out_actions=["timeslice"]).pending("new", queue="q", priority=75, gpus=2).build()
    )
    assert answer(opted_out, profile(), registry=registry).groups == ()


def test_response_capabilities_and_explanation_name_it(registry: Registry) -> None:
    snapshot = decode(SNAPSHOT.encode(), Format.YAML)
    used = profile_of(profile_text(profile()))
    answer = Engine(used, registry).decide(pb.DecideRequest(snapshot=snapshot)).parse()
    (group,) = answer.groups
    assert (group.action, [each.WhichOneof("kind") for each in group.decisions][:2]) == (
        "timeslice",
        ["evict", "reserve"],
    )
    assert "timeslice" in build_capabilities(used, ServerLimits(), registry).actions
    question = ExplainRequest(snapshot=snapshot)
    question.why_victim.pod_group = "old"
    explanation = Explainer(used, registry).explain(question).explanation.operator
    assert "by timeslice" in explanation
    assert "first in victim order" in explanation


def test_metrics_count_its_decisions(registry: Registry) -> None:
    count_metrics("tenure_decisions")
    snapshot = decode(SNAPSHOT.encode(), Format.YAML)
    count(Engine(profile(), registry).decide(pb.DecideRequest(snapshot=snapshot)).summary)
    kinds = {"evict": 1, "reserve": 1, "patch": 3}
    assert count_metrics("tenure_decisions") == {
        ("tenure_decisions_total", "timeslice", kind): number for kind, number in kinds.items()
    }


def test_action_that_wraps_the_search_is_explained_as_a_search() -> None:
    def preempt_later(context: CycleContext, action: Action) -> None:
        evict_for_pending(context, action)

    wrapped = Action(
        "later",
        victims_from=Relation.SAME_QUEUE,
        gate=QueueGate.QUOTA,
        reason=ReasonCode.PREEMPTED,
        atomicity=Atomicity.ALL,
        run=in_cycle(preempt_later),
        rule=LowerPriority,
    )
    registry = Registry(actions={**BUILT_IN.actions, wrapped.name: wrapped}, plugins=BUILT_IN.plugins)
    question = ExplainRequest(snapshot=decode(SNAPSHOT.encode(), Format.YAML))
    question.why_victim.pod_group = "old"
    used = replace(default_profile(), actions=("allocate", "later"))
    explanation = Explainer(used, registry).explain(question).explanation.operator
    assert "by later" in explanation
    assert "first in victim order" in explanation


def test_unknown_action_and_argument_are_refused(registry: Registry) -> None:
    assert check_profile(profile(), BUILT_IN)[0][0] == "actions[1]"
    guarded = profile(PluginConfig("minruntime", {"actions": "timeslicing"}))
    ((path, problem),) = check_profile(guarded, registry)
    assert path.endswith("arguments.actions")
    assert problem.endswith("use reclaim, preempt, timeslice, consolidation, requeue")


def test_failing_import_is_a_problem_of_profiles_that_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(PACKAGE, tmp_path)
    (tmp_path / "tenure_timeslice.py").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "tenure_timeslice", raising=False)
    installed_registry.cache_clear()
    try:
        assert check_profile(default_profile(), installed_registry()) == []
        ((path, problem),) = check_profile(profile(), installed_registry())
    finally:
        installed_registry.cache_clear()
    assert path == "actions[1]"
    assert problem.startswith(
        "timeslice of tenure-timeslice 1.0 cannot be loaded: tenure_timeslice:TIMESLICE: "
    )
