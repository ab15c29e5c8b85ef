"""What a slice may interrupt, and what it leaves, for every length of a slice (R2.23, R2.24)."""

from collections.abc import Iterator

import pytest
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.actions.time_slices import QueueSlices
from tenure.solver.actions.victim_rules import VictimSelector
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework import stop_signal
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.model.decision import CycleResult, DecisionGroup, OutcomeKind
from tenure.solver.model.rejection import Rejection
from tenure.solver.open_context import search_components
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.search import SLICE_OVER, Budget
from tenure.solver.testing import ClusterBuilder

from tests.attacks.overload.test_shared_time import CountedDeadline

HOST = "kubernetes.io/hostname"
ENOUGH = 10**9
SLICES = 300
LOOKS_OF_A_POD = 4
COMPILED_STRIDE = 16
"""Steps between two looks in a compiled solver, whose constants tests cannot change."""


@pytest.fixture(autouse=True)
def look_at_the_time_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop_signal, "STRIDE", 1)


def _context(cluster: Cluster, stop: CountedDeadline) -> CycleContext:
    session = Session.open(cluster, with_required_plugins(default_profile()), BUILT_IN, stop)
    return CycleContext.open(session, search_components(session))


def _index(cluster: Cluster, name: str) -> int:
    return next(group.index for group in cluster.pod_groups if group.facts.name == name)


def _decisions(cluster: Cluster, most: int = 3, step: int = 5) -> Iterator[tuple[CycleResult, Cluster]]:
    """Decisions with deadlines of all lengths up to several times what all of the work takes."""
    stop = CountedDeadline(ENOUGH)
    answer(cluster, default_profile(), stop)
    for ticks in range(5, most * (ENOUGH - stop.left), step):
        yield answer(cluster, default_profile(), CountedDeadline(ticks)), cluster


def _of(result: CycleResult, pod_group: int) -> list[DecisionGroup]:
    return [group for group in result.groups if group.beneficiary == pod_group]


def _overloaded() -> Cluster:
    """Other queues keep allocate busy; a gang in `good` would fit on free nodes."""
    builder = ClusterBuilder().queue("evil", quota=0, priority=200).queue("good", quota=48)
    builder.queue("lent", quota=0).node("full", gpus=8)
    for number in range(6):
        builder.node(f"n{number}", gpus=8)
    for number in range(8):
        builder.running(f"lent{number}", queue="lent", gpus=1, node="full")
    for number in range(40):
        builder.pending(f"evil{number}", queue="evil", gpus=9 if number else 8, count=3)
    return builder.pending("good", queue="good", gpus=8, count=6).build()


def test_pod_group_that_fits_free_capacity_is_bound_whichever_action_comes_first_r2_23() -> None:
    kinds = set[OutcomeKind]()
    for result, cluster in _decisions(_overloaded()):
        good = _index(cluster, "good")
        kinds.update(each.kind for each in result.outcomes if each.pod_group == good)
        assert not any(group.reservations for group in _of(result, good))
    assert kinds == {OutcomeKind.BUDGET_EXHAUSTED, OutcomeKind.BOUND}


def test_result_that_does_not_say_that_it_was_stopped_is_that_without_a_deadline_r2_24() -> None:
    cluster = _overloaded()
    whole, equal = answer(cluster, default_profile()), 0
    for result, _ in _decisions(cluster, most=20, step=50):
        if not result.stopped_early:
            assert (result.groups, result.outcomes) == (whole.groups, whole.outcomes)
            equal += 1
    assert equal


def _lent(pods: int) -> ClusterBuilder:
    """A gang reclaims GPUs that were lent."""
    builder = ClusterBuilder().queue("lent", quota=0).queue("owner", quota=8)
    for number in range(4):
        builder.node(f"n{number}", gpus=2)
        builder.running(f"lent{number}", queue="lent", gpus=2, node=f"n{number}")
    return builder.pending("owner", queue="owner", gpus=2, count=pods)


@pytest.mark.parametrize(
    ("pods", "free"), [(2, 0), (1, 0), (2, 2)], ids=["several victims", "the first victim", "beside all"]
)
def test_search_that_a_slice_ends_leaves_no_moves_and_drops_no_solution_r2_23(pods: int, free: int) -> None:
    """At every length of the slice: the moves are those of a solution, or there are none."""
    builder = _lent(pods)
    for number in range(free):
        builder.node(f"free{number}", gpus=2)
    cluster, solutions = builder.build(), 0
    owner = _index(cluster, "owner")
    for ticks in range(SLICES):
        context = _context(cluster, CountedDeadline(ENOUGH))
        action, stop = EvictionAction(context, RECLAIM), context.session.stop
        search = action.search(owner, VictimSelector(action.rules, owner))
        stop.begin_slice(stop.time_left() - ticks)
        with context.session.statement() as statement:
            result = context.solver.solve(statement, search, Budget.of(context.options, stop))
            assert (result.rejection is None) == bool(statement.moves)
        solutions += result.rejection is None
        context.close()
    assert solutions


def test_attempt_to_allocate_ends_with_the_slice_also_while_it_tries_other_places_r2_23() -> None:
    builder = ClusterBuilder().queue("q", quota=71).pod_group("gang", queue="q", min_member=71)
    for name, gpus in (("n1", 1), ("n2", 71)):
        builder.node(name, gpus=gpus, labels={HOST: name})
    near = [PodAffinityTerm((("app", "lead"),), HOST)]
    builder.pending("gang", gpus=1, cpus=0.5, labels={"app": "lead"})
    builder.pending("gang", gpus=1, cpus=0.5, count=70, labels={"app": "w"}, pod_affinity=near)
    cluster = builder.build()
    found = list[Rejection | None]()
    for ticks in range(SLICES):
        deadline = CountedDeadline(ENOUGH)
        context = _context(cluster, deadline)
        end = deadline.left - ticks
        context.session.stop.begin_slice(end)
        with context.session.statement() as statement:
            nodes = context.components.node_order.all_nodes
            found.append(context.placer.place(statement, 0, context.gangs.tasks_to_allocate(0), nodes))
            assert len(statement.moves) == (0 if found[-1] else 71)
        assert deadline.left >= end - LOOKS_OF_A_POD
        context.close()
    assert set(found) == {SLICE_OVER, None}


def test_pod_groups_that_are_passed_over_do_not_keep_a_cycle_from_ending_r2_24() -> None:
    count, builder = 300, ClusterBuilder().queue("evil").queue("good").node("n", gpus=1)
    for number in range(count):
        builder.pending(f"evil{number:03}", queue="evil", gpus=2)
    deadline = CountedDeadline(ENOUGH)
    context = _context(builder.build(), deadline)
    pending = QueueSlices(context.session, context.gangs)
    pending.begin(context.pending(lambda group: None), deadline.left - 2, context.slices)
    first = pending.pop()
    assert first is not None
    deadline.left -= 2
    pending.put_back(context.entry(first))
    before = deadline.left
    assert pending.pop() is not None
    assert before - deadline.left >= (count - 1) // COMPILED_STRIDE
    context.close()
