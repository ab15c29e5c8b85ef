"""Whether fewer pods could have been disrupted: the search of a decision again, with fewer victims."""

from typing import Final, NamedTuple

from tenure.solver.diagnosis.eligibility import VictimQuery
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.decision import DecisionGroup
from tenure.solver.model.verdict import Minimality, OtherSet
from tenure.solver.plugin_api.action import Action
from tenure.solver.result.notices import victims_of

MAX_TRIALS: Final = 32
"""Smaller sets of victims that are tried."""


class SmallerSet(NamedTuple):
    """Victims that would have been enough."""

    pod_groups: tuple[int, ...]
    pods: int


class VictimSetCheck(NamedTuple):
    """Result of the trials with fewer victims."""

    known: Minimality
    """What the search knew."""
    disrupted: int
    """Pods that the decision evicts or moves."""
    tried: int
    untried: int
    smaller: SmallerSet | None
    """The smallest set that was found and disrupts fewer pods."""
    next_best: OtherSet | None
    """The best one of the sets that the search finds next; None: it finds no other."""

    @property
    def minimality(self) -> Minimality:
        """What the search proved; LEAST also for one pod without which there is no capacity."""
        if self.known.is_shown:
            return self.known
        if self.disrupted == 1 and self.smaller is None:
            return Minimality.LEAST
        return Minimality.HEURISTIC if self.tried else Minimality.NOT_TRIED


def check_victim_set(replay: CycleReplay, group: DecisionGroup) -> VictimSetCheck | None:
    """Try each candidate alone, and the victims without one of them; None if no search found the victims."""
    action = next((each for each in replay.searches() if each.name == group.action), None)
    if action is None:
        return None
    disrupted = len(victims_of(group))
    known = Minimality.NOT_TRIED if group.victim_set is None else group.victim_set.minimality
    context = replay.before_search(action, group.beneficiary)
    query = VictimQuery(context, action, group.beneficiary)
    other = _next_best(replay, action, group)
    if query.fits():
        return VictimSetCheck(known, disrupted, 1, 0, SmallerSet((), 0), other)
    if disrupted == 1:
        return VictimSetCheck(known, disrupted, 1, 0, None, other)
    victims = dict.fromkeys(replay.cluster.tasks[each.task].pod_group for each in victims_of(group))
    trials = [tuple(each for each in victims if each != left_out) for left_out in victims]
    candidates = dict.fromkeys([each for order in query.orders() for each in order])
    trials.extend((candidate,) for candidate in candidates)
    trials = [trial for trial in dict.fromkeys(trials) if trial and set(trial) != set(victims)]
    found: SmallerSet | None = None
    for trial in trials[:MAX_TRIALS]:
        pods = query.disrupted_pods(trial)
        if pods is not None and pods < (disrupted if found is None else found.pods):
            found = SmallerSet(trial, pods)
    tried = min(len(trials), MAX_TRIALS)
    return VictimSetCheck(known, disrupted, tried, len(trials) - tried, found, other)


def _next_best(replay: CycleReplay, action: Action, group: DecisionGroup) -> OtherSet | None:
    """The least of the other sets that the search compared the victims with, or would find next, and why it
    lost against the victims.
    """
    chosen = {eviction.task for eviction in victims_of(group)}
    query = VictimQuery(replay.before_search(action, group.beneficiary), action, group.beneficiary)
    found = query.victim_sets(max(replay.profile.options.victim_alternatives, 2), MAX_TRIALS)
    own = next((each for each in found if each.tasks == chosen), None)
    other = next((each for each in found if each.tasks != chosen), None)
    if other is None:
        return None
    return other.beside(other if own is None else own)
