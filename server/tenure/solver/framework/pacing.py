"""How fast pods may be disrupted: rates of evictions as token buckets, and limits for each cycle.

A commit that disrupts s units passes a rate with at least min(s, burst) tokens, and pays s: a large gang
waits for a full bucket, and leaves a debt (semantics R15.7, R15.8). Tokens are counted in thousandths.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, final

from tenure.solver.framework.commit import Commit
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.disruption_limits import (
    EVICTION_RATES,
    POD_GROUPS,
    PREEMPTOR_QUEUE,
    TOKEN,
    VICTIM_QUEUE,
    EvictionRate,
    EvictionRateStatus,
)
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.terms.formatting import format_count
from tenure.terms.reasons import ReasonCode

SOURCE: Final = "search"


class Disruption(NamedTuple):
    """Tasks that an action disrupts for a pod group, as placed before the cycle."""

    action: str
    preemptor: int
    tasks: Sequence[int]


class Cap(NamedTuple):
    """How many more tasks may be disrupted; of the queues below one, if it has a queue."""

    left: int
    queue: int | None = None


@final
class Pacing:
    """Tokens of the rates, and numbers of disrupted tasks, as they follow from the commits of a session."""

    def __init__(self, cluster: Cluster, options: CycleOptions) -> None:
        self._cluster = cluster
        self._per_cycle = options.max_disrupted_per_cycle
        self._per_pod_group = options.max_disrupted_per_pod_group
        self._rates = options.eviction_rates
        self.is_active = bool(self._rates) or max(self._per_cycle, self._per_pod_group) != UNLIMITED
        states = {state.name: state for state in cluster.carried.rows(EVICTION_RATES)}
        self._states = [states.get(rate.name) for rate in self._rates]
        self._queues = {queue.facts.name: queue.index for queue in cluster.queues} if self._rates else {}
        self._charged: list[tuple[Commit, Disruption, tuple[int, ...]]] = []
        """Commits with what they disrupt, and what they paid to each rate."""
        self._paid = [0] * len(self._rates)
        self._returned = [0] * len(self._rates)
        """Tokens by notices that are withdrawn in this cycle."""
        self._disrupted = 0
        self._by_preemptor: dict[int, int] = {}
        self.refusals = [0] * len(self._rates)
        self._refused_until: dict[int, Rejection] = {}
        """Rejections by their ends."""
        self.was_met = False

    def rejection(self, commits: Sequence[Commit], new: Disruption, time: int | None) -> Rejection | None:
        """Why this must not be disrupted after the commits; with a time, as the tokens are then."""
        if not self.is_active or not new.tasks:
            return None
        self._follow(commits)
        found = self._over_cap(new) or self._over_rate(new, time)
        self.was_met = self.was_met or found is not None
        if found is not None and found.until is not None:
            self._refused_until.setdefault(found.until, found)
        return found

    def caps(self, commits: Sequence[Commit], action: str, preemptor: int) -> list[Cap]:
        """How many tasks the action may disrupt for a pod group after the commits, by each limit."""
        if not self.is_active:
            return []
        self._follow(commits)
        found = [Cap(left) for left in self._left(preemptor) if left is not None]
        for number, rate in enumerate(self._rates):
            tokens = self._tokens(number)
            is_short = rate.unit != POD_GROUPS and tokens < rate.burst * TOKEN
            if is_short and self._applies(rate, action, preemptor):
                found.append(Cap(max(tokens // TOKEN, 0), self._queue(rate)))
        return found

    def give_back(self, action: str, preemptor: int, tasks: Sequence[int]) -> None:
        """Return the tokens of a notice that is withdrawn, for these tasks (semantics R16.7)."""
        withdrawn = Disruption(action, preemptor, tasks)
        for number, rate in enumerate(self._rates):
            if self._states[number] is not None:  # else the bucket is full
                self._returned[number] += self._units(rate, withdrawn) * TOKEN

    def is_below(self, task: int, queue: int | None) -> bool:
        """Whether a task is of a queue or its descendants; None: of any."""
        if queue is None:
            return True
        own = self._cluster.pod_groups[self._cluster.tasks[task].pod_group].queue
        return own is not None and queue in self._cluster.queues[own].path

    def endings(self) -> dict[int, Rejection]:
        """Refusals by the time at which enough tokens are there."""
        return dict(self._refused_until)

    def status(self, commits: Sequence[Commit]) -> tuple[EvictionRateStatus, ...]:
        """Tokens of every rate before and after the cycle."""
        if not self._rates:
            return ()
        self._follow(commits)
        found = []
        for number, rate in enumerate(self._rates):
            before, after = self._before(number, self._cluster.now), self._tokens(number)
            full = None
            if after < rate.burst * TOKEN:
                full = self._time_of(number, rate.burst * TOKEN)
            refused, is_changed = self.refusals[number], self._paid[number] > 0 or self._returned[number] > 0
            payers = frozenset(self._payers(rate, commits))
            by_group = rate.unit == POD_GROUPS
            found.append(
                EvictionRateStatus(rate.name, before, after, full, refused, is_changed, payers, by_group)
            )
        return tuple(found)

    def _payers(self, rate: EvictionRate, commits: Sequence[Commit]) -> Iterator[int]:
        """Tasks that the commits disrupt and the rate counts."""
        queue = self._queue(rate)
        for commit in commits:
            if self._applies(rate, commit.action.name, commit.beneficiary):
                yield from (task for task in _displaced_by(commit) if self.is_below(task, queue))

    def _over_cap(self, new: Disruption) -> Rejection | None:
        count = len(new.tasks)
        for left, limit, what in zip(
            self._left(new.preemptor),
            (self._per_cycle, self._per_pod_group),
            ("in a cycle", "for one pod group"),
            strict=True,
        ):
            if left is not None and count > left:
                detail = f"at most {format_count(limit, 'pod')} may be disrupted {what}"
                return Rejection(ReasonCode.EVICTION_RATE, detail, source=SOURCE)
        return None

    def _left(self, preemptor: int) -> tuple[int | None, int | None]:
        """Tasks that may be disrupted in this cycle, and for the pod group; None: without limit."""
        cycle = max(self._per_cycle - self._disrupted, 0) if self._per_cycle >= 0 else None
        if self._per_pod_group < 0:
            return cycle, None
        return cycle, max(self._per_pod_group - self._by_preemptor.get(preemptor, 0), 0)

    def _over_rate(self, new: Disruption, time: int | None) -> Rejection | None:
        """The rejection by the rate that has enough tokens last."""
        found: Rejection | None = None
        for number, rate in enumerate(self._rates):
            units = self._units(rate, new)
            needed = min(units, rate.burst) * TOKEN
            tokens = self._tokens(number, time)
            if units == 0 or tokens >= needed:
                continue
            self.refusals[number] += 1
            tokens = self._tokens(number)
            until = self._time_of(number, needed)
            have = f"{format_tokens(tokens)} of {rate.burst} tokens"
            detail = f"eviction rate {rate.name} has {have}, and {needed // TOKEN} are needed"
            if found is None or found.until is None or until > found.until:
                found = Rejection(ReasonCode.EVICTION_RATE, detail, until, SOURCE)
        return found

    def _follow(self, commits: Sequence[Commit]) -> None:
        """Charge new commits, and give back what commits paid that were undone."""
        while self._charged and not (
            len(self._charged) <= len(commits) and commits[len(self._charged) - 1] is self._charged[-1][0]
        ):
            _, old, paid = self._charged.pop()
            self._add(old, paid, -1)
        for commit in commits[len(self._charged) :]:
            new = Disruption(commit.action.name, commit.beneficiary, tuple(_disrupted(commit)))
            paid = tuple([self._units(rate, new) * TOKEN for rate in self._rates])
            self._charged.append((commit, new, paid))
            self._add(new, paid, 1)

    def _add(self, disruption: Disruption, paid: Sequence[int], sign: int) -> None:
        self._paid = [total + sign * each for total, each in zip(self._paid, paid, strict=True)]
        self._disrupted += sign * len(disruption.tasks)
        before = self._by_preemptor.get(disruption.preemptor, 0)
        self._by_preemptor[disruption.preemptor] = before + sign * len(disruption.tasks)

    def _tokens(self, number: int, time: int | None = None) -> int:
        """Tokens after the commits so far, now or at a later time."""
        rate = self._rates[number]
        left = self._before(number, self._cluster.now) - self._paid[number]
        return left if time is None else rate.refilled(left, time - self._cluster.now)

    def _time_of(self, number: int, needed: int) -> int:
        """When the rate first has so many tokens, unless more are paid.

        A state that stays as it is counts from its own time: since then, parts of a thousandth were added.
        """
        rate, state, now = self._rates[number], self._states[number], self._cluster.now
        if state is None or self._paid[number] or self._returned[number]:
            return now + rate.time_for(needed - self._tokens(number))
        return max(state.time + rate.time_for(needed - state.tokens), now)

    def _before(self, number: int, time: int) -> int:
        """Tokens at a time without the commits; a rate without a state is full."""
        rate, state = self._rates[number], self._states[number]
        if state is None:
            return rate.burst * TOKEN
        tokens = rate.refilled(state.tokens, time - state.time) + self._returned[number]
        return min(tokens, rate.burst * TOKEN)

    def _units(self, rate: EvictionRate, new: Disruption) -> int:
        """What it pays to a rate."""
        if not new.tasks or not self._applies(rate, new.action, new.preemptor):
            return 0
        tasks = [task for task in new.tasks if self.is_below(task, self._queue(rate))]
        if rate.unit == POD_GROUPS:
            return len({self._cluster.tasks[task].pod_group for task in tasks})
        return len(tasks)

    def _queue(self, rate: EvictionRate) -> int | None:
        """Queue of the victims that count; None: all do. -1: it does not exist."""
        return self._queues.get(rate.queue, -1) if rate.scope == VICTIM_QUEUE else None

    def _applies(self, rate: EvictionRate, action: str, preemptor: int) -> bool:
        if rate.actions and action not in rate.actions:
            return False
        if rate.scope != PREEMPTOR_QUEUE:
            return True
        queue = None if preemptor == NOWHERE else self._cluster.pod_groups[preemptor].queue
        return queue is not None and self._queues.get(rate.queue, -1) in self._cluster.queues[queue].path


def format_tokens(thousandths: int) -> str:
    """A number of tokens without needless digits."""
    sign, digits = "-" if thousandths < 0 else "", abs(thousandths)
    rest = f".{digits % TOKEN:03}".rstrip("0").rstrip(".")
    return f"{sign}{digits // TOKEN}{rest}"


def _disrupted(commit: Commit) -> Iterator[int]:
    """Tasks that the commit disrupts.

    None of an in-flight group: its victims were counted when they were given notice (semantics R16.7).
    """
    return iter(()) if commit.in_flight else _displaced_by(commit)


def _displaced_by(commit: Commit) -> Iterator[int]:
    """Tasks that the commit evicts or moves: they were allocated before, and are not where they were."""
    first = {move.task: move.before for move in reversed(commit.moves)}
    last = {move.task: move.after for move in commit.moves}
    for task, before in first.items():
        if before.is_allocated and last[task] != before:
            yield task


def displaced(cluster: Cluster, tasks: Iterable[int], placements: Sequence[object]) -> tuple[int, ...]:
    """Those of the tasks that were allocated before the cycle and are not where they were."""
    facts = cluster.tasks
    return tuple(
        [t for t in tasks if facts[t].placement.is_allocated and placements[t] != facts[t].placement]
    )
