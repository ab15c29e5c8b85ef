"""The expectedruntime plugin in a profile: no arguments, on by default, and no effect without requeue."""

from dataclasses import replace

import pytest
from tenure.solver.actions.requeue import REQUEUE
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.requeue import NominationResult
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import check_profile, default_profile
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session, session_state

DEFAULT = default_profile()


def overdue() -> Cluster:
    """Half an hour past its expected runtime, with a contender of higher priority in another queue."""
    builder = ClusterBuilder().node("n", gpus=1).queue("b", quota=1).queue("a", quota=1)
    builder.running("old", queue="a", gpus=1, node="n", expected_runtime="30m", started_ago="1h")
    return builder.pending("new", queue="b", gpus=1, priority=75).build()


def without(*, action: str = "", plugin: str = "") -> Profile:
    """The default profile without one action or plugin."""
    actions = tuple(each for each in DEFAULT.actions if each != action)
    return replace(DEFAULT, actions=actions, plugins=tuple(p for p in DEFAULT.plugins if p.name != plugin))


def test_plugin_has_no_arguments() -> None:
    profile = replace(DEFAULT, plugins=(PluginConfig("expectedruntime", {"after": "1h"}),))
    ((path, problem),) = check_profile(profile)
    assert (path, "known: none" in problem) == ("plugins[0].arguments.after", True)


def test_default_profile_requeues_overdue_pod_groups() -> None:
    decision = answer(overdue(), DEFAULT)
    assert [group.action for group in decision.groups] == ["requeue"]


@pytest.mark.parametrize("missing", [{"plugin": "expectedruntime"}, {"action": "requeue"}], ids=str)
def test_overdue_pod_group_continues_without_plugin_or_action(missing: dict[str, str]) -> None:
    decision = answer(overdue(), without(**missing))
    assert (decision.groups, decision.nominations) == ((), ())


def test_nomination_does_not_change_the_session() -> None:
    session = open_session(overdue())
    before = session_state(session)
    (found,) = session.chains.nominations(REQUEUE).rows
    assert found.result is NominationResult.NO_CONTENDER
    assert (session_state(session), session.commits, session.patches) == (before, [], [])
