"""A search is a question that never changes, and its result is the answer (semantics R5.1)."""

from dataclasses import replace
from typing import Final, get_origin, get_type_hints

import pytest
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.actions.victim_rules import VictimSelector
from tenure.solver.cycle import decide
from tenure.solver.model.rejection import Rejection
from tenure.solver.open_context import search_components
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.search.search import BUDGET_EXHAUSTED, NO_SOLUTION, Budget, Search
from tenure.solver.search.search_result import SearchResult
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session


def full_cluster(free: int, protection: str) -> ClusterBuilder:
    """Six single-GPU pods of a queue without quota on one node, and a gang of four that reclaims."""
    builder = ClusterBuilder().node("n", gpus=6 + free).queue("poor", quota=6)
    builder.queue("rich", quota=0, weight=0, reclaim_min_runtime=protection)
    for number in range(6):
        builder.running(f"rich{number}", queue="rich", gpus=1, node="n", started_ago="1m")
    return builder.pending("gang", queue="poor", gpus=1, count=4)


def solve(builder: ClusterBuilder, options: CycleOptions) -> tuple[Search, SearchResult, int]:
    """The search for the pending pod group, its result, and the number of moves in the statement."""
    session = open_session(builder.build(), options)
    context = CycleContext.open(session, search_components(session))
    action = EvictionAction(context, RECLAIM)
    gang = next(group.index for group in session.cluster.pod_groups if group.facts.name == "gang")
    search = action.search(gang, VictimSelector(action.rules, gang))
    before = replace(search)
    with session.statement() as statement:
        result = context.solver.solve(statement, search, Budget.of(options))
        assert search == before, "solving it changes nothing"
        return search, result, len(statement.moves)


# free GPUs, protection of the victims, simulations -> rejection, victims, whether victims are needed
RESULTS = {
    "no victim is needed": (4, "0s", 100, None, 0, False),
    "four victims are evicted": (0, "0s", 100, None, 4, True),
    "two of four tasks have free GPUs": (2, "0s", 100, None, 2, True),
    "all victims are protected": (0, "1h", 100, NO_SOLUTION, None, False),
    "the budget ends first": (0, "0s", 0, BUDGET_EXHAUSTED, None, False),
}


@pytest.mark.parametrize(
    ("free", "protection", "budget", "rejection", "victims", "is_needed"),
    RESULTS.values(),
    ids=RESULTS.keys(),
)
@pytest.mark.parametrize("speedups", [CycleOptions().speedups, ()], ids=["fast", "plain"])
def test_a_result_is_a_rejection_or_the_scenario_in_the_statement(
    free: int,
    protection: str,
    budget: int,
    rejection: Rejection | None,
    victims: int | None,
    is_needed: bool,
    speedups: tuple[str, ...],
) -> None:
    options = CycleOptions(max_simulations_per_pod_group=budget, speedups=speedups)
    search, result, moves = solve(full_cluster(free, protection), options)
    assert result.rejection is rejection
    assert (None if result.scenario is None else len(result.scenario.victims())) == victims
    assert (result.found_by is not None) is is_needed
    assert (moves > 0) is (result.rejection is None)
    assert result.state.search is search


def test_victims_are_found_without_scenario_generators() -> None:
    profile = default_profile()
    plugins = tuple(each for each in profile.plugins if not each.name.startswith("sg-"))
    cluster = ClusterBuilder().node("n", gpus=1).queue("q").running("low", queue="q", gpus=1, node="n")
    found = decide(
        cluster.pending("high", queue="q", gpus=1, priority=60).build(), replace(profile, plugins=plugins)
    ).close()
    assert [len(group.evictions) for group in found.groups] == [1]


@pytest.mark.interpreted
def test_a_search_never_changes() -> None:
    """By type checking, as the facts of the model: a class that is frozen at run time is slow to create."""
    assert all(get_origin(hint) is Final for hint in get_type_hints(Search).values())
