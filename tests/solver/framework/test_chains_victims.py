"""Plugins that reject victims or scenarios: arguments of their methods, and combination of their results."""

from dataclasses import replace
from typing import NamedTuple

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.plugin_api.registry import PluginFactory, Registry
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.sessions import run_actions

NO = Rejection(ReasonCode.NO_SOLUTION, "not this one")


class FilterCall(NamedTuple):
    """A call of a plugin: action, preemptor, victim, and the number of pods (0: not known yet)."""

    action: str
    preemptor: str
    victims: tuple[tuple[str, int], ...]


class RecordingFilters:
    """A plugin from another package that records its calls and rejects victims or returns nothing."""

    def __init__(self, cluster: Cluster, refuses: str = "") -> None:
        self._groups = cluster.pod_groups
        self._refuses = refuses
        self.calls: list[FilterCall] = []

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        call = FilterCall(
            action.name, self._groups[preemptor].facts.name, ((self._groups[victim].facts.name, 0),)
        )
        self.calls.append(call)
        return NO if self._refuses == "victim" else None

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        wanted = tuple(
            (self._groups[group].facts.name, len(tasks)) for group, tasks in scenario.victims().items()
        )
        self.calls.append(FilterCall(action.name, self._groups[scenario.preemptor].facts.name, wanted))
        return NO if self._refuses == "scenario" else None


def evicted_pods(cluster: Cluster, *hooks: RecordingFilters) -> list[str]:
    """Uids of the pods that a cycle evicts when these plugins are in the profile."""
    names = [f"theirs-{number}" for number in range(len(hooks))]
    profile = with_required_plugins(default_profile())
    profile = replace(profile, plugins=(*profile.plugins, *(PluginConfig(name) for name in names)))
    factories = {
        **BUILT_IN.plugins,
        **{name: _calls_with(hook) for name, hook in zip(names, hooks, strict=True)},
    }
    session = Session.open(cluster, profile, Registry(actions=BUILT_IN.actions, plugins=factories))
    run_actions(session)
    after = session.ledger.placements
    return [task.facts.uid for task in cluster.tasks if after[task.index].status is TaskStatus.RELEASING]


def _calls_with(hook: RecordingFilters) -> PluginFactory:
    return lambda session, arguments: hook


def contested_cluster(action: str) -> Cluster:
    """`new` needs the two GPUs of `low`. Preemption can evict neither `same` nor `other`."""
    builder = ClusterBuilder().node("n", gpus=4).queue("mine", quota=4).queue("theirs", quota=0)
    queue = "mine" if action == "preempt" else "theirs"
    builder.running("low", queue=queue, gpus=1, count=2, node="n")
    builder.running("same", queue="mine", gpus=1, node="n", priority=75)
    builder.running("other", queue="theirs", gpus=1, node="n", priority=60)
    return builder.pending("new", queue="mine", gpus=2, priority=75).build()


ACTIONS = ["preempt", "reclaim"]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("what", ["victim", "scenario"])
@pytest.mark.parametrize(
    ("first", "second"), [(False, False), (False, True), (True, False), (True, True)], ids=str
)
def test_eviction_requires_the_consent_of_every_plugin_r7_32(
    action: str, what: str, first: bool, second: bool
) -> None:
    cluster = contested_cluster(action)
    hooks = [RecordingFilters(cluster, what if refuses else "") for refuses in (first, second)]
    assert bool(evicted_pods(cluster, *hooks)) is not (first or second)


def test_preemption_filters_only_its_candidates() -> None:
    """Victims of equal priority or of another queue are excluded before any plugin is called."""
    cluster = contested_cluster("preempt")
    hooks = RecordingFilters(cluster)
    assert evicted_pods(cluster, hooks) == ["low-0", "low-1"]
    about = {name for asked in hooks.calls if asked.action == "preempt" for name, _ in asked.victims}
    assert about == {"low"}


def test_reclaim_filters_only_other_queues() -> None:
    cluster = contested_cluster("reclaim")
    hooks = RecordingFilters(cluster)
    assert evicted_pods(cluster, hooks) == ["low-0", "low-1"]
    about = {name for asked in hooks.calls if asked.action == "reclaim" for name, _ in asked.victims}
    assert {"low"} <= about <= {"low", "other"}


@pytest.mark.parametrize("action", ACTIONS)
def test_scenario_validator_receives_action_preemptor_and_all_victims(action: str) -> None:
    cluster = contested_cluster(action)
    hooks = RecordingFilters(cluster)
    evicted_pods(cluster, hooks)
    assert FilterCall(action, "new", (("low", 2),)) in hooks.calls
    assert FilterCall(action, "new", (("low", 0),)) in hooks.calls
