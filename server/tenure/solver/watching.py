"""Telling an observer what happens within actions, by wrapping what actions call.

Actions, the search and plugins know nothing of it. The wraps are put around the objects of one session, and
only when somebody listens; without one, the session runs exactly as it is written.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from tenure.solver.actions.context import Context
from tenure.solver.framework.chains import Chains
from tenure.solver.framework.observer import Observer, Part
from tenure.solver.framework.scenario import Scenario
from tenure.solver.framework.statement import Statement
from tenure.solver.model.reason import Rejection
from tenure.solver.search.budget import Budget
from tenure.solver.search.solve import Problem

POINTS: Final = ("admits", "has_capacity", "allows_victim", "guard", "allows_scenario", "nominate")
"""Extension points whose answers are told: a few per pod group and scenario. The others are asked for every
node or move, and would cost more to watch than they take.
"""
STOPPED: Final = "stopped"
"""Outcome of a part that an exception ended, as when the caller's time is up."""


def watch_plugins(chains: Chains, observer: Observer) -> None:
    """Let the observer ask the plugins. To be called before anybody has taken a method out of the chains."""
    for point in POINTS:
        chains.wrap(point, partial(partial, observer.ask, point))


def watch_search(context: Context, observer: Observer) -> None:
    """Tell the observer of every pod group that is placed or searched for, and of every scenario.

    Methods are replaced on the objects and not on their classes, so that other sessions go on unwatched.
    """
    watch, solver, placer = _Search(observer), context.solver, context.placer
    placer.place = partial(watch.place, placer.place)  # type: ignore[method-assign]
    solver.solve = partial(watch.solve, solver.solve)  # type: ignore[method-assign]
    solver.simulator.run = partial(watch.simulate, solver.simulator.run)  # type: ignore[method-assign]


class _Search:
    """What is told about the search of one session."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._is_solving = False
        self._has_open_scenario = False

    def place(
        self,
        plain: Callable[..., Rejection | None],
        statement: Statement,
        pod_group: int,
        tasks: list[int],
        nodes: int,
        simulation: bool = False,
    ) -> Rejection | None:
        """Placing a pod group on free room. What is placed in a simulation is part of the scenario."""
        if simulation:
            return plain(statement, pod_group, tasks, nodes, simulation)
        return self._pod_group(pod_group, lambda: plain(statement, pod_group, tasks, nodes))

    def solve(
        self,
        plain: Callable[..., Rejection | None],
        statement: Statement,
        problem: Problem,
        budget: Budget,
    ) -> Rejection | None:
        """Searching victims for a pod group."""
        problem.validates = partial(self.validate, problem.validates)
        self._is_solving = True
        try:
            return self._pod_group(problem.pod_group, lambda: plain(statement, problem, budget))
        finally:
            self._is_solving = False

    def simulate(
        self, plain: Callable[..., bool], statement: Statement, scenario: Scenario, nodes: int
    ) -> bool:
        """One scenario. When it finds room it stays open for the verdict on it, if `solve` will give one."""
        self._observer.begin(Part.SCENARIO, pod_group=scenario.preemptor)
        self._has_open_scenario, outcome = True, STOPPED
        try:
            found = plain(statement, scenario, nodes)
            outcome = "room" if found else "no_room"
        finally:
            if outcome != "room" or not self._is_solving:
                self._close(outcome)
        return found

    def validate(self, plain: Callable[[Scenario], Rejection | None], scenario: Scenario) -> Rejection | None:
        """The verdict on a scenario that found room."""
        rejection = plain(scenario)
        self._close("accepted" if rejection is None else _word(rejection))
        return rejection

    def _pod_group(self, pod_group: int, run: Callable[[], Rejection | None]) -> Rejection | None:
        self._observer.begin(Part.POD_GROUP, pod_group=pod_group)
        outcome = STOPPED
        try:
            rejection = run()
            outcome = "room" if rejection is None else _word(rejection)
        finally:
            self._close(outcome)
            self._observer.end(outcome)
        return rejection

    def _close(self, outcome: str) -> None:
        """End the scenario, if one is open."""
        if self._has_open_scenario:
            self._has_open_scenario = False
            self._observer.end(outcome)


def _word(rejection: Rejection) -> str:
    return rejection.code.name.lower()
