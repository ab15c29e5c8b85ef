"""Instrumentation: reports to an observer what happens within actions, by wrapping what actions call.

Actions, the search and plugins contain no tracing. An observed session receives a placer, a solver, a
simulator and plugins that report their calls; without an observer, the session runs exactly as it is written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.chains import Wrapper
from tenure.solver.framework.observer import Observer, Phase
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.points import (
    CapacityGate,
    Gate,
    Guard,
    RequeueNominator,
    ScenarioValidator,
    VictimFilter,
)
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.placer import Placer
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.search import BlockedBy, Budget, Search, Validator
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchResult
from tenure.solver.search.solver import Solver

STOPPED_OUTCOME: Final = "stopped"
"""Outcome of a phase that an exception ended, for example because the cycle was stopped."""


def instrument_plugins(observer: Observer) -> Wrapper:
    """Report the results of the extension points that are called a few times per pod group and scenario.

    The others are called for every node or move, and reporting would cost more than the calls.
    """

    def wrap(chain: str, name: str, plugin: object) -> object:
        kind = _INSTRUMENTED.get(chain)
        return plugin if kind is None else kind(name, plugin, observer)

    return wrap


class _InstrumentedPlugin:
    """Called in place of a plugin."""

    def __init__(self, name: str, plugin: Any, observer: Observer) -> None:
        self._name, self._plugin, self._observer = name, plugin, observer


class _InstrumentedGate(_InstrumentedPlugin, Gate):
    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        call, rejects = self._observer.call, self._plugin.admits
        rejection: Rejection | None = call("admits", self._name, rejects, action, pod_group, tasks)
        return rejection


class _InstrumentedCapacityGate(_InstrumentedPlugin, CapacityGate):
    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        call, rejects = self._observer.call, self._plugin.has_capacity
        rejection: Rejection | None = call("has_capacity", self._name, rejects, pod_group, tasks, demand)
        return rejection


class _InstrumentedVictimFilter(_InstrumentedPlugin, VictimFilter):
    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        call, rejects = self._observer.call, self._plugin.allows_victim
        rejection: Rejection | None = call("allows_victim", self._name, rejects, action, preemptor, victim)
        return rejection


class _InstrumentedGuard(_InstrumentedPlugin, Guard):
    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        call, guards = self._observer.call, self._plugin.guard
        verdict: GuardVerdict | None = call("guard", self._name, guards, action, preemptor, victim)
        return verdict


class _InstrumentedValidator(_InstrumentedPlugin, ScenarioValidator):
    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        call, rejects = self._observer.call, self._plugin.allows_scenario
        rejection: Rejection | None = call("allows_scenario", self._name, rejects, action, scenario)
        return rejection


class _InstrumentedNominator(_InstrumentedPlugin, RequeueNominator):
    def nominate(self, action: Action) -> Iterable[Nomination]:
        call, nominates = self._observer.call, self._plugin.nominate
        found: Iterable[Nomination] = call("nominate", self._name, nominates, action)
        return found


_INSTRUMENTED: Final[Mapping[str, type[_InstrumentedPlugin]]] = {
    "gates": _InstrumentedGate,
    "capacity_gates": _InstrumentedCapacityGate,
    "victim_filters": _InstrumentedVictimFilter,
    "guards": _InstrumentedGuard,
    "scenario_validators": _InstrumentedValidator,
    "requeue_nominators": _InstrumentedNominator,
}


def build_instrumented_context(
    session: Session, components: SearchComponents, observer: Observer
) -> CycleContext:
    """Build a search that reports every pod group that is placed or searched for, and every scenario."""
    instrumentation = _Instrumentation(observer)
    placer = _InstrumentedPlacer(session, components, instrumentation)
    solver = _InstrumentedSolver(session, components, placer, instrumentation)
    return CycleContext(session, components, placer, solver)


class _Instrumentation:
    """Reports phases of the search of one session."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.is_solving = False
        self._has_open_scenario = False

    def begin_pod_group(self, pod_group: int) -> None:
        self._observer.begin(Phase.POD_GROUP, pod_group=pod_group)

    def end_pod_group(self, outcome: str) -> None:
        self.close_scenario(outcome)
        self._observer.end(outcome)

    def begin_scenario(self, scenario: Scenario) -> None:
        self._observer.begin(Phase.SCENARIO, pod_group=scenario.preemptor)
        self._has_open_scenario = True

    def end_scenario(self, outcome: str) -> None:
        """A scenario that placed the preemptor stays open until it is validated, if a search will do so."""
        if outcome != "placed" or not self.is_solving:
            self.close_scenario(outcome)

    def close_scenario(self, outcome: str) -> None:
        """End the scenario, if one is open."""
        if self._has_open_scenario:
            self._has_open_scenario = False
            self._observer.end(outcome)

    def validate(self, validates: Validator, scenario: Scenario) -> Rejection | None:
        """Validate a scenario that placed the preemptor, and end it."""
        rejection = validates(scenario)
        self.close_scenario("accepted" if rejection is None else _outcome_word(rejection))
        return rejection


class _InstrumentedPlacer(Placer):
    """Reports pod groups placed on free capacity. A placement in a simulation belongs to its scenario."""

    def __init__(
        self, session: Session, components: SearchComponents, instrumentation: _Instrumentation
    ) -> None:
        super().__init__(session, components.allowed_nodes, components.node_order)
        self._instrumentation = instrumentation

    def place(
        self,
        statement: Statement,
        pod_group: int,
        tasks: list[int],
        nodes: int,
        simulation: bool = False,
        *,
        tries_others: bool = True,
    ) -> Rejection | None:
        if simulation:
            return super().place(statement, pod_group, tasks, nodes, simulation, tries_others=tries_others)
        outcome = STOPPED_OUTCOME
        self._instrumentation.begin_pod_group(pod_group)
        try:
            rejection = super().place(statement, pod_group, tasks, nodes)
            outcome = _outcome(rejection)
        finally:
            self._instrumentation.end_pod_group(outcome)
        return rejection


class _InstrumentedSolver(Solver):
    """Reports searches, and validations of scenarios."""

    def __init__(
        self,
        session: Session,
        components: SearchComponents,
        placer: Placer,
        instrumentation: _Instrumentation,
    ) -> None:
        super().__init__(session, components, placer)
        self._instrumentation = instrumentation
        self.simulator = _InstrumentedSimulator(session, components, placer, instrumentation)

    def solve(self, statement: Statement, search: Search, budget: Budget) -> SearchResult:
        instrumentation, outcome = self._instrumentation, STOPPED_OUTCOME
        observed = replace(search, validates=partial(instrumentation.validate, search.validates))
        instrumentation.begin_pod_group(search.preemptor)
        instrumentation.is_solving = True
        try:
            result = super().solve(statement, observed, budget)
            is_possible = search.is_trial and result.rejection is None
            outcome = "possible" if is_possible else _outcome(result.rejection)
        finally:
            instrumentation.end_pod_group(outcome)
            instrumentation.is_solving = False
        return result


class _InstrumentedSimulator(ScenarioSimulator):
    """Reports every scenario."""

    def __init__(
        self,
        session: Session,
        components: SearchComponents,
        placer: Placer,
        instrumentation: _Instrumentation,
    ) -> None:
        super().__init__(session, components.gangs, placer, components.simulation_order)
        self._instrumentation = instrumentation

    def run(
        self,
        statement: Statement,
        scenario: Scenario,
        nodes: int,
        is_blocked_by: BlockedBy | None = None,
        *,
        preemptor_first: bool = False,
    ) -> bool:
        outcome = STOPPED_OUTCOME
        self._instrumentation.begin_scenario(scenario)
        try:
            found = super().run(statement, scenario, nodes, is_blocked_by, preemptor_first=preemptor_first)
            outcome = "placed" if found else "insufficient_resources"
        finally:
            self._instrumentation.end_scenario(outcome)
        return found


def _outcome(rejection: Rejection | None) -> str:
    return "placed" if rejection is None else _outcome_word(rejection)


def _outcome_word(rejection: Rejection) -> str:
    return rejection.code.name.lower()
