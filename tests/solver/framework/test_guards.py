"""Verdicts of guards: protection of all pods of a pod group, of its minimum, or of nothing."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.plugin_api.traits import SameFor, Traits
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.solver.testing.options import GroupOptions
from tenure.terms.reasons import ReasonCode

ALL, CORE, NOTHING = ProtectionScope.ALL, ProtectionScope.CORE, ProtectionScope.NOTHING
JOB, NEW = 0, 1


def guard_with_scope(scope: ProtectionScope | None, *protected: int) -> Any:
    """A guard that returns this scope for the named pod groups (default: all). None: it does not apply."""

    class FixedGuard:
        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            self._name = arguments["name"]

        def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
            if scope is None or (protected and victim not in protected):
                return None
            code = ReasonCode.MIN_RUNTIME
            return GuardVerdict(scope, f"argument of {self._name}", NOW, f"by {self._name}", code)

    return FixedGuard


def open_guarded_session(builder: ClusterBuilder, *guards: Any) -> Session:
    """Open a session with these guards, named a, b, c, ... in their order."""
    factories = dict(zip("abc", guards, strict=False))
    settings = tuple(PluginConfig(name, {"name": name}) for name in factories)
    return Session.open(
        builder.build(), Profile((), settings), Registry(actions=BUILT_IN.actions, plugins=factories)
    )


def with_sub_groups(required: int | None, *sizes: tuple[int, int]) -> ClusterBuilder:
    """`new`, and `job` with subgroups of (running pods, minimum). `required`: how many of them must run."""
    minimum_of_job: GroupOptions = {} if required is None else {"min_sub_groups": required}
    builder = ClusterBuilder().node("n", gpus=9).queue("q").pod_group("job", queue="q", **minimum_of_job)
    for number, (count, minimum) in enumerate(sizes):
        builder.sub_group("job", f"part{number}", min_member=minimum)
        builder.running("job", count=count, node="n", sub_group=f"part{number}")
    return builder.pending("new", queue="q")


def without_sub_groups(count: int, min_member: int) -> ClusterBuilder:
    """`new`, and `job` with this many running pods."""
    builder = ClusterBuilder().node("n", gpus=9).queue("q")
    builder.running("job", queue="q", count=count, min_member=min_member, node="n")
    return builder.pending("new", queue="q")


def nested() -> ClusterBuilder:
    """`job` with a required sub group that has two gangs, one of them optional."""
    builder = ClusterBuilder().node("n", gpus=9).queue("q").pod_group("job", queue="q")
    builder.sub_group("job", "inner", min_sub_groups=1)
    for name in ("x", "y"):
        builder.sub_group("job", name, parent="inner", min_member=1)
        builder.running("job", node="n", sub_group=name)
    return builder.pending("new", queue="q")


SHAPES: Final = {
    "a gang": (without_sub_groups(2, 2), False),
    "a gang that lacks a pod": (without_sub_groups(1, 2), False),
    "an elastic pod group": (without_sub_groups(3, 2), True),
    "one without a minimum": (without_sub_groups(1, 0), True),
    "sub groups that are gangs": (with_sub_groups(None, (2, 2), (1, 1)), False),
    "one elastic sub group": (with_sub_groups(None, (2, 2), (2, 1)), True),
    "an optional sub group": (with_sub_groups(1, (2, 2), (1, 1)), True),
    "an optional sub group further down": (nested(), True),
    "as many sub groups as are required": (with_sub_groups(2, (2, 2), (1, 1)), False),
}
"""Pod groups, and whether they have surplus."""


@pytest.mark.parametrize(("builder", "has_surplus"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("scope", [ALL, CORE, NOTHING, None])
def test_scope_all_excludes_a_victim_and_core_does_without_surplus(
    builder: ClusterBuilder, has_surplus: bool, scope: ProtectionScope | None
) -> None:
    guards = open_guarded_session(builder, guard_with_scope(scope)).guards
    is_victim = {ALL: False, CORE: has_surplus}.get(scope, True)
    assert (guards.allows_victim(PREEMPT, NEW, JOB) is None) is is_victim
    assert guards.keeps_core(PREEMPT, NEW, JOB) is bool(scope)


REJECTS: Final = {
    "nobody": ((), ""),
    "nobody says no": ((guard_with_scope(NOTHING), guard_with_scope(None)), ""),
    "one of several": ((guard_with_scope(NOTHING), guard_with_scope(CORE)), "b"),
    "the first of equals": ((guard_with_scope(CORE), guard_with_scope(CORE)), "a"),
    "who protects most": ((guard_with_scope(CORE), guard_with_scope(NOTHING), guard_with_scope(ALL)), "c"),
    "the first who protects most": (
        (guard_with_scope(CORE), guard_with_scope(ALL), guard_with_scope(ALL)),
        "b",
    ),
    "nobody, for it is about others": ((guard_with_scope(ALL, NEW),), ""),
}


@pytest.mark.parametrize(("guards", "objects"), REJECTS.values(), ids=REJECTS)
def test_rejection_is_that_of_the_first_guard_with_the_strictest_scope(
    guards: tuple[Any, ...], objects: str
) -> None:
    found = open_guarded_session(without_sub_groups(2, 2), *guards).guards.allows_victim(PREEMPT, NEW, JOB)
    rejection = Rejection(ReasonCode.MIN_RUNTIME, f"by {objects}", NOW, objects)
    assert found == (rejection if objects else None)


def test_verdicts_of_all_effective_guards_are_in_profile_order() -> None:
    guards = open_guarded_session(
        without_sub_groups(2, 2), guard_with_scope(NOTHING), guard_with_scope(None), guard_with_scope(ALL)
    ).guards
    found = guards.verdicts(PREEMPT, NEW, JOB)
    assert [(verdict.guard, verdict.scope) for verdict in found] == [("a", NOTHING), ("c", ALL)]


class NamelessGuard:
    """A guard that sets the name of another guard in its verdict."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        return GuardVerdict(ALL, "argument", NOW, "it must stay", guard="preemptibility")


def test_guards_are_named_by_the_profile() -> None:
    guards = open_guarded_session(without_sub_groups(2, 2), NamelessGuard).guards
    assert [verdict.guard for verdict in guards.verdicts(PREEMPT, NEW, JOB)] == ["a"]
    assert guards.allows_victim(PREEMPT, NEW, JOB) == Rejection(
        ReasonCode.PROTECTED, "it must stay", NOW, "a"
    )


@pytest.mark.parametrize(("key", "expected"), [("one", False), (None, True)])
def test_verdict_is_a_finding_about_the_pair_without_a_key_for_the_preemptor(
    key: str | None, expected: bool
) -> None:
    guards = open_guarded_session(
        without_sub_groups(2, 2), counting_guard("one", []), counting_guard(key, [])
    ).guards
    assert guards.is_pair_finding(NEW, "b") is expected
    assert guards.is_pair_finding(NEW, "a") is False
    assert (guards.cache_key(NEW) is None) is expected
    assert guards.shared_key(NEW) == guards.shared_key(JOB)


def partly_running() -> ClusterBuilder:
    """With a minimum of 1: one running pod, one with a reservation, one terminating and one pending."""
    builder = without_sub_groups(1, 1).node("m", gpus=9)
    builder.pods("job", TaskStatus.PIPELINED, node="m").pods("job", TaskStatus.RELEASING, node="m")
    return builder.pending("job")


EVICTED: Final = {
    "surplus": (without_sub_groups(3, 1), [1, 2], True),
    "one too many": (without_sub_groups(3, 1), [0, 1, 2], False),
    "surplus, whichever pods it is": (without_sub_groups(3, 1), [0, 1], True),
    "one of a gang": (without_sub_groups(2, 2), [0], False),
    "below its minimum it loses nothing": (without_sub_groups(2, 3), [0], False),
    "no minimum, nothing to keep": (without_sub_groups(2, 0), [0, 1], True),
    "surplus of a sub group": (with_sub_groups(None, (3, 1), (1, 1)), [1, 2], True),
    "the last of a sub group": (with_sub_groups(None, (3, 1), (1, 1)), [3], False),
    "an optional sub group": (with_sub_groups(1, (1, 1), (2, 2)), [1, 2], True),
    "the other one": (with_sub_groups(1, (1, 1), (2, 2)), [0], True),
    "both": (with_sub_groups(1, (1, 1), (2, 2)), [0, 1, 2], False),
    "one of three, two are required": (with_sub_groups(2, (1, 1), (1, 1), (1, 1)), [1], True),
    "two of three, two are required": (with_sub_groups(2, (1, 1), (1, 1), (1, 1)), [1, 2], False),
    "a broken pod group loses from parts that stay whole": (
        with_sub_groups(None, (1, 2), (3, 1)),
        [2, 3],
        True,
    ),
    "and from no other": (with_sub_groups(None, (1, 2), (3, 1)), [0], False),
    "and not down to the last": (with_sub_groups(None, (1, 2), (3, 1)), [1, 2, 3], False),
    "an optional one further down": (nested(), [1], True),
    "both further down": (nested(), [0, 1], False),
    "a promise counts as left": (partly_running(), [0], True),
    "a terminating pod does not r7_41": (partly_running(), [0, 1], False),
}
"""Evicted tasks of `job`, and whether its minimum is preserved."""


@pytest.mark.parametrize(("builder", "tasks", "keeps"), EVICTED.values(), ids=EVICTED)
@pytest.mark.parametrize("scope", [CORE, NOTHING, None])
def test_scenario_that_evicts_a_protected_minimum_is_rejected_r7_40(
    builder: ClusterBuilder, tasks: list[int], keeps: bool, scope: ProtectionScope | None
) -> None:
    guards = open_guarded_session(builder, guard_with_scope(scope)).guards
    scenario = Scenario(NEW, (), (), (Batch(JOB, tuple(tasks)),))
    expected = keeps or not scope
    assert (guards.allows_scenario(PREEMPT, scenario) is None) is expected


def test_recorded_and_potential_tasks_count_together() -> None:
    guards = open_guarded_session(without_sub_groups(3, 1), guard_with_scope(CORE)).guards
    taken = Scenario(NEW, (), (Batch(JOB, (2,)),), (Batch(JOB, (1,)),))
    assert guards.allows_scenario(PREEMPT, taken) is None
    too_many = Scenario(NEW, (), (Batch(JOB, (2,)),), (Batch(JOB, (1,)), Batch(JOB, (0,))))
    assert guards.allows_scenario(PREEMPT, too_many) == Rejection(ReasonCode.MIN_RUNTIME, "by a", NOW, "a")


def test_relocated_task_counts_as_lost_r7_42() -> None:
    session = open_guarded_session(without_sub_groups(2, 2).node("m", gpus=9), guard_with_scope(CORE))
    with session.statement() as statement:
        statement.evict(0)
        statement.pipeline(0, 0)
        assert session.guards.allows_scenario(PREEMPT, Scenario(NEW, (), (), (Batch(JOB, (0,)),)))


def test_each_of_several_victims_retains_its_own_minimum() -> None:
    builder = ClusterBuilder().node("n", gpus=9).queue("q")
    for name in ("a", "b"):
        builder.running(name, queue="q", count=2, min_member=1, node="n")
    session = open_guarded_session(builder.pending("new", queue="q"), guard_with_scope(CORE, 1))
    a, b, new = session.cluster.pod_groups
    whole_a = Batch(a.index, a.tasks)
    for tasks, is_allowed in ((b.tasks[1:], True), (b.tasks, False)):
        scenario = Scenario(new.index, (), (), (whole_a, Batch(b.index, tasks)))
        assert (session.guards.allows_scenario(PREEMPT, scenario) is None) is is_allowed


def counting_guard(kind: str | None, asked: list[int]) -> Any:
    """A guard that records the preemptors it is called for. All preemptors have this cache key."""

    class Counting:
        TRAITS = Traits(verdicts=SameFor.KEY)

        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            pass

        def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
            asked.append(preemptor)
            return None

        def guard_cache_key(self, preemptor: int) -> str | None:
            return kind

    return Counting


@pytest.mark.parametrize(
    ("kinds", "calls"), [(["one"], 1), ([None], 2), (["one", None], 3), ([None, "one"], 3)]
)
def test_verdicts_are_shared_per_guard_by_cache_key(kinds: list[str | None], calls: int) -> None:
    """A guard without a cache key is called for each pair. Other guards are called as often as without it."""
    asked: list[int] = []
    builder = without_sub_groups(2, 2).pending("newer", queue="q")
    guards = open_guarded_session(builder, *(counting_guard(kind, asked) for kind in kinds)).guards
    for preemptor in (NEW, NEW + 1):
        guards.allows_victim(PREEMPT, preemptor, JOB)
    assert len(asked) == calls
    guards.allows_victim(RECLAIM, NEW, JOB)
    assert len(asked) == calls + len(kinds)
