"""Plugins that keep victims or whole scenarios from happening: who is asked what, and how answers add up."""

from dataclasses import replace
from typing import NamedTuple

import pytest
from tenure.solver.framework.profile import PluginSetting
from tenure.solver.framework.scenario import Scenario
from tenure.solver.framework.session import PluginFactory, Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.registry import default_profile, opened, plugins
from tenure.solver.testing import ClusterBuilder

from tests.sessions import run_actions

NO = Rejection(ReasonCode.NO_SOLUTION, "not this one")


class Asked(NamedTuple):
    """A question to a plugin: the action, who asks, and whose pods are wanted, how many (0: not yet said)."""

    action: str
    preemptor: str
    victims: tuple[tuple[str, int], ...]


class Hooks:
    """A plugin of somebody else: writes down what it is asked, and says no or nothing."""

    def __init__(self, cluster: Cluster, refuses: str = "") -> None:
        self._groups = cluster.pod_groups
        self._refuses = refuses
        self.asked: list[Asked] = []

    def allows_victim(self, action: str, preemptor: int, victim: int) -> Rejection | None:
        asked = Asked(action, self._groups[preemptor].name, ((self._groups[victim].name, 0),))
        self.asked.append(asked)
        return NO if self._refuses == "victim" else None

    def allows_scenario(self, action: str, scenario: Scenario) -> Rejection | None:
        wanted = tuple((self._groups[group].name, len(tasks)) for group, tasks in scenario.victims().items())
        self.asked.append(Asked(action, self._groups[scenario.preemptor].name, wanted))
        return NO if self._refuses == "scenario" else None


def evicted(cluster: Cluster, *hooks: Hooks) -> list[str]:
    """Uids of the pods that a cycle evicts when these plugins are in the profile."""
    names = [f"theirs-{number}" for number in range(len(hooks))]
    profile = opened(default_profile())
    profile = replace(profile, plugins=(*profile.plugins, *(PluginSetting(name) for name in names)))
    factories = {**plugins(), **{name: _given(hook) for name, hook in zip(names, hooks, strict=True)}}
    session = Session.open(cluster, profile, factories)
    run_actions(session)
    after = session.ledger.placements
    return [task.uid for task in cluster.tasks if after[task.index].status is TaskStatus.RELEASING]


def _given(hook: Hooks) -> PluginFactory:
    return lambda session, arguments: hook


def contested(action: str) -> Cluster:
    """`new` wants the two GPUs of `low`; a preemption can take neither `same` nor `other`."""
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
def test_nothing_happens_unless_every_plugin_agrees_r7_32(
    action: str, what: str, first: bool, second: bool
) -> None:
    cluster = contested(action)
    hooks = [Hooks(cluster, what if refuses else "") for refuses in (first, second)]
    assert bool(evicted(cluster, *hooks)) is not (first or second)


def test_a_preemption_asks_about_those_it_could_take_at_all() -> None:
    """Not about an equal priority, not about another queue: they are out before any plugin is asked."""
    cluster = contested("preempt")
    hooks = Hooks(cluster)
    assert evicted(cluster, hooks) == ["low-0", "low-1"]
    about = {name for asked in hooks.asked if asked.action == "preempt" for name, _ in asked.victims}
    assert about == {"low"}


def test_a_reclaim_asks_about_other_queues_only() -> None:
    cluster = contested("reclaim")
    hooks = Hooks(cluster)
    assert evicted(cluster, hooks) == ["low-0", "low-1"]
    about = {name for asked in hooks.asked if asked.action == "reclaim" for name, _ in asked.victims}
    assert {"low"} <= about <= {"low", "other"}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_scenario_is_shown_with_its_action_who_asks_and_every_pod_wanted(action: str) -> None:
    cluster = contested(action)
    hooks = Hooks(cluster)
    evicted(cluster, hooks)
    assert Asked(action, "new", (("low", 2),)) in hooks.asked
    assert Asked(action, "new", (("low", 0),)) in hooks.asked
