"""Plugins of another package on a server: what they are asked, and how their answers combine."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination, NominationResult
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.scenario import Scenario
from tenure.terms.reasons import ReasonCode
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.answers import decisions, evicted, evicting_actions, nomination, result
from tests.requirements.cluster import ClusterText
from tests.requirements.profiles import changed_profile, client_of

NO: Final = Rejection(ReasonCode.NO_SOLUTION, "not this one")
ACTIONS: Final = ["preempt", "reclaim"]


class Call(NamedTuple):
    """A call of a plugin: point, action, preemptor, and the victims with the number of their pods."""

    point: str
    action: str
    preemptor: str
    victims: tuple[tuple[str, int], ...]


def filters(calls: list[Call], refuses: str = "") -> Any:
    """A plugin that records its calls, and refuses all victims or all scenarios."""

    class Filters:
        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            self._groups = context.cluster.pod_groups

        def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
            return self._answer("victim", action, preemptor, ((self._name(victim), 0),))

        def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
            victims = tuple((self._name(group), len(tasks)) for group, tasks in scenario.victims().items())
            return self._answer("scenario", action, scenario.preemptor, victims)

        def _answer(
            self, point: str, action: Action, preemptor: int, victims: tuple[tuple[str, int], ...]
        ) -> Rejection | None:
            calls.append(Call(point, action.name, self._name(preemptor), victims))
            return NO if refuses == point else None

        def _name(self, pod_group: int) -> str:
            return str(self._groups[pod_group].facts.name)

    return Filters


def contested(action: str) -> ClusterText:
    """`new` needs the two GPUs of `low`. Preemption can evict neither `same` nor `other`."""
    cluster = ClusterText().node(gpus=4).queue("mine", quota=4).queue("theirs", quota=0)
    cluster.runs("low", "mine" if action == "preempt" else "theirs", pods=2)
    cluster.runs("same", "mine", priority=75).runs("other", "theirs", priority=60)
    return cluster.waits("new", "mine", pods=2, priority=75)


def decide(cluster: ClusterText, **plugins: Any) -> DecideResponse:
    """Decide on a server with these plugins, after those of the default profile."""
    with client_of(changed_profile(more=plugins), plugins) as client:
        return client.decide(cluster.snapshot)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", ["victim", "scenario"])
@pytest.mark.parametrize("refusing", [(), (1,), (2,), (1, 2)], ids=str)
def test_eviction_requires_the_consent_of_every_plugin(
    action: str, point: str, refusing: tuple[int, ...]
) -> None:
    first, second = (filters([], point if number in refusing else "") for number in (1, 2))
    answer = decide(contested(action), first=first, second=second)
    assert evicting_actions(answer) == ([] if refusing else [action])


@pytest.mark.parametrize("action", ACTIONS)
def test_plugin_is_given_the_action_the_preemptor_and_the_victims(action: str) -> None:
    """It keeps a pod group from being a victim, or rejects all victims with the number of their pods."""
    calls: list[Call] = []
    assert evicted(decide(contested(action), theirs=filters(calls))) == ["low-0", "low-1"]
    assert Call("victim", action, "new", (("low", 0),)) in calls
    assert Call("scenario", action, "new", (("low", 2),)) in calls


CANDIDATES: Final = {"preempt": {"low"}, "reclaim": {"low", "other"}}


@pytest.mark.parametrize("action", ACTIONS)
def test_plugin_is_asked_about_candidates_of_the_action_only(action: str) -> None:
    """Pod groups of equal priority or of another queue are no candidates of a preemption."""
    calls: list[Call] = []
    decide(contested(action), theirs=filters(calls))
    about = {name for call in calls if call.action == action for name, _ in call.victims}
    assert {"low"} <= about <= CANDIDATES[action]


def test_scenario_is_judged_after_its_simulation() -> None:
    """A preemptor that fits nowhere has no scenario that could be judged."""
    calls: list[Call] = []
    cluster = contested("preempt")
    cluster.snapshot.shapes.add(id="elsewhere", node_selector={"zone": "x"}).gpu.devices = 1
    for pod in cluster.snapshot.pods:
        if pod.pod_group == "new":
            pod.shape = "elsewhere"
    decide(cluster, theirs=filters(calls))
    assert [call for call in calls if call.point == "scenario"] == []


def nominator(*names: str) -> Any:
    """A plugin that nominates these pod groups."""

    class Nominator:
        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            self._groups = context.cluster.pod_groups

        def nominate(self, action: Action) -> Iterator[Nomination]:
            for index, group in enumerate(self._groups):
                if group.facts.name in names:
                    yield Nomination(index, NominationResult.NO_CONTENDER)

    return Nominator


def overdue(**contender: Any) -> ClusterText:
    """`old` is past its expected runtime, `fresh` is not. The contender fits in place of either."""
    cluster = ClusterText().node(gpus=2).queue("b", quota=1).queue("a", quota=2)
    cluster.runs("old", "a", expected_runtime="30m").runs("fresh", "a")
    return cluster.waits("new", "b", **{"priority": 75, **contender})


def test_pod_group_that_two_plugins_nominate_is_one_candidate_with_both() -> None:
    answer = decide(overdue(), proportional=nominator("old"))
    found = nomination(answer, "old")
    assert found is not None
    assert (list(found.nominated_by), result(answer)) == (["expectedruntime", "proportional"], "REQUEUED")
    (requeue,) = [each.requeue for each in decisions(answer) if each.HasField("requeue")]
    assert list(requeue.nominated_by) == ["expectedruntime", "proportional"]


def test_candidates_of_all_plugins_are_collected() -> None:
    answer = decide(overdue(status="GATED"), proportional=nominator("fresh"))
    found = {each.pod_group: list(each.nominated_by) for each in answer.nominations}
    assert found == {"old": ["expectedruntime"], "fresh": ["proportional"]}


def test_action_works_with_the_nominations_of_another_plugin() -> None:
    """Plugin and action are separate: without expectedruntime the action takes what others nominate."""
    cluster = overdue()
    plugins = {"theirs": nominator("fresh")}
    with client_of(changed_profile("expectedruntime", plugins), plugins) as client:
        answer = client.decide(cluster.snapshot)
    assert (evicted(answer), result(answer), result(answer, "fresh")) == (["fresh-0"], "", "REQUEUED")


def test_nomination_alone_changes_nothing() -> None:
    """The decisions are the same with the plugin and without it where the action does not run."""
    cluster, actions = overdue(), ("allocate", "reclaim", "preempt")
    found = []
    for without in ("", "expectedruntime"):
        with client_of(changed_profile(without, actions=actions)) as client:
            found.append([group.decisions for group in client.decide(cluster.snapshot).groups])
    assert found == [[], []]
