"""Sentences about starts: estimates, planned starts, places in queues, and what is reserved now."""

import re
from collections.abc import Iterator
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.testing import apply_decisions

from tests.properties.checks.guard_facts import expected_runtime
from tests.properties.sentences.applied import GONE, MINUTE, PLACED, pods_on_nodes, with_placements
from tests.properties.sentences.case import Case, Said, amount, moments, number
from tests.properties.sentences.remedies import next_step

_CYCLES: Final = 60
STEP: Final = 300 * 10**9
"""Times that rest on expected runtimes are rounded up to it."""


def scheduled(case: Case, said: Said) -> Iterator[str]:
    """X is scheduled: N bound to free capacity."""
    outcome = case.outcome(said.about)
    if outcome is None or outcome.kind is not OutcomeKind.BOUND or outcome.bound != _count(said):
        yield f"{said.text} It is not"


def _count(said: Said) -> int:
    """The number of pods, which follows the names."""
    return number(re.search(r"([\d,]+ pods?)", said.text)[1])  # type: ignore[index]


def has_reserved(case: Case, said: Said) -> Iterator[str]:
    """X has reserved capacity for N and waits for OTHERS: it has, and if they go, it runs."""
    outcome = case.outcome(said.about)
    if outcome is None or outcome.kind not in PLACED:
        yield f"{said.text} It has not"
        return
    if _count(said) not in (outcome.bound, outcome.reserved):
        yield f"{said.text} They are {outcome.reserved}"
    if ("terminating pods" in said.text) != (outcome.kind is OutcomeKind.WAITING_FOR_RELEASE):
        yield f"{said.text} The outcome is {outcome.kind.name}"
    leaving = any(task.placement.status is TaskStatus.RELEASING for task in case.cluster.tasks)
    leaving = leaving or bool(case.cluster.in_flight) or any(node.other_pods for node in case.cluster.nodes)
    leaving = leaving or any(group.evictions for group in case.decision.groups)
    if outcome.kind is OutcomeKind.WAITING_FOR_RELEASE and not leaving:
        yield f"{said.text} No pod terminates"


def not_pending(case: Case, said: Said) -> Iterator[str]:
    """X is not pending."""
    if case.outcome(said.about) is not None:
        yield f"{said.text} It is"


def waits_in_place(case: Case, said: Said) -> Iterator[str]:
    """X is Nth in its queue, after pod groups that ask for G GPUs: what the pods before it ask for."""
    outcome = case.outcome(said.about)
    if outcome is None or (outcome.kind in PLACED and not outcome.pending):
        yield f"{said.text} It does not wait"


def does_not_wait(case: Case, said: Said) -> Iterator[str]:
    """X starts in this cycle."""
    outcome = case.outcome(said.about)
    if outcome is not None and outcome.kind not in PLACED:
        yield f"{said.text} It waits"


def estimate(case: Case, said: Said) -> Iterator[str]:
    """It starts at about T, between A and B, by L at the latest: in that order, and if all pod groups end as
    they say and nothing arrives, it starts between the first and the last of these times.
    """
    times = moments(said.text)
    ordered = sorted(times[1:3]) if "between" in said.text else []
    if ordered and not ordered[0] <= times[0] <= ordered[1] + STEP:
        yield f"{said.text} The likely time is not between them"
    if "at the latest" in said.text and times[-1] < max(times[:-1]):
        yield f"{said.text} The latest is earlier than the others"
    if max(times) < case.cluster.now:
        yield f"{said.text} That is over"
    start = played_start(case, said.about, max(times) + STEP)
    first = case.cluster.now if said.text.startswith("It starts by") else min(times) - STEP
    if start is not None and not first <= start <= max(times) + STEP:
        late = (start - case.cluster.now) // MINUTE
        yield f"{said.text} It starts after {late} minutes"


def played_start(case: Case, about: int, last: int) -> int | None:
    """When more pods of it run, in cycles on a cluster in which pod groups end by their expected runtimes.

    None: some pod group runs longer than expected already, so that its end is not known; or the cycles were
    too many.
    """
    cluster, tasks = case.cluster, case.cluster.pod_groups[about].tasks
    ends = _ends(cluster, dict[int, int]())
    if any(end <= cluster.now for end in ends.values()):
        return None
    before = pods_on_nodes(cluster, tasks)
    for _ in range(_CYCLES):
        decision = case.decide(cluster)
        step = next_step(cluster, decision, None)
        coming = [end - cluster.now for end in ends.values()]
        if any(task.placement.status is TaskStatus.RELEASING for task in cluster.tasks):
            coming.append(MINUTE)
        elapsed = min([*([step] if step else []), *coming], default=0)
        if not elapsed or cluster.now > last:
            return last + 2 * STEP  # it does not start in time
        started = cluster.now
        cluster = apply_decisions(cluster, decision, elapsed)
        if pods_on_nodes(cluster, tasks) > before:
            return started
        before = min(before, pods_on_nodes(cluster, tasks))  # it may lose some first
        over = [group for group, end in ends.items() if end <= cluster.now]
        cluster = with_placements(
            cluster, {task: GONE for group in over for task in cluster.pod_groups[group].tasks}
        )
        ends = _ends(cluster, {group: end for group, end in ends.items() if group not in over})
        if about in over:
            return None
    return None


def _ends(cluster: Cluster, known: dict[int, int]) -> dict[int, int]:
    """When running pod groups end, for those whose start and runtime are known."""
    found = dict[int, int]()
    for group in sorted({task.pod_group for task in cluster.tasks if task.placement.is_allocated}):
        facts = cluster.pod_groups[group].facts
        runtimes = [expected_runtime(cluster, cluster.pod_groups[group]), _time_limit(cluster, group)]
        runtime = min([each for each in runtimes if each], default=None)
        start = facts.last_start
        if runtime is not None and start is not None:
            found[group] = known.get(group, start + runtime)
    return found


def _time_limit(cluster: Cluster, index: int) -> int | None:
    """Its own, at most that of the nearest queue that says so; None: neither has one."""
    group = cluster.pod_groups[index]
    found, at = None, group.queue
    while found is None and at is not None:
        found, at = cluster.queues[at].facts.time_limit, cluster.queues[at].parent
    return min([each for each in (group.facts.victim.time_limit, found) if each], default=None)


def awaited(case: Case, said: Said) -> Iterator[str]:
    """It waits for the end of Y at T: Y runs, and T has not passed."""
    other = case.index(said.text)
    if other == said.about:
        yield f"{said.text} That is itself"
    if moments(said.text)[-1] < case.cluster.now:
        yield f"{said.text} That is over"


def no_start(case: Case, said: Said) -> Iterator[str]:
    """It does not start before T, or by known ends: it is not placed now."""
    outcome = case.outcome(said.about)
    if outcome is not None and outcome.kind in PLACED and not outcome.pending:
        yield f"{said.text} It has capacity now"


def summary(case: Case, said: Said) -> Iterator[str]:
    """Of N pod groups, M start within D."""
    total, some = (int(each) for each in re.findall(r"\d+", said.text)[:2])
    if total != len(case.decision.outcomes) or some > total:
        yield f"{said.text} {len(case.decision.outcomes)} wait"


def endless(case: Case, said: Said) -> Iterator[str]:
    """N pod groups that then run have neither an expected runtime nor a time limit."""
    if number(said.text) > len(case.cluster.pod_groups):
        yield f"{said.text} There are not so many"


def among(case: Case, said: Said) -> Iterator[str]:
    """Among them, or right before it, or those are: pod groups that exist, none of them itself."""
    named = case.indices(said.text)
    if not named or (said.about in named and not said.text.startswith("Among")):
        yield f"{said.text} It names itself, or none"


def earlier_pod_groups(case: Case, said: Said) -> Iterator[str]:
    """Those are X, or capacity went first to X: they received capacity, or wait for the same."""
    named = case.indices(said.text)
    given = {group.beneficiary for group in case.decision.groups if group.bindings or group.reservations}
    if said.about in named or not set(named) <= given:
        yield f"{said.text} They received nothing"


def kept(case: Case, said: Said) -> Iterator[str]:
    """It has reserved capacity on NODES and starts at T: a planned start says so."""
    rows = case.decision.planned_starts or ()
    uid = case.cluster.pod_groups[said.about].facts.uid
    own = next((row for row in rows if row.pod_group == uid), None)
    if own is None:
        yield f"{said.text} No start is planned"
        return
    times = moments(said.text)
    if own.start is not None and times and not 0 <= times[0] - own.start < STEP:
        yield f"{said.text} The planned start is another one"
    nodes = {case.cluster.nodes[place.node].facts.name for place in own.places if place.node >= 0}
    told = re.search(r"on nodes? (\S+?)[ ,]", said.text)
    if told is not None and nodes and told[1] not in nodes:
        yield f"{said.text} It has other nodes"


def kept_for(case: Case, said: Said) -> Iterator[str]:
    """Capacity is reserved for X: a planned start of each."""
    uids = {row.pod_group for row in case.decision.planned_starts or ()}
    if not {case.cluster.pod_groups[each].facts.uid for each in case.indices(said.text)} <= uids:
        yield f"{said.text} No start of it is planned"


def past_use(case: Case, said: Said) -> Iterator[str]:
    """The fair share of its queue is A: B by weight, C after past use of U: A is C."""
    first, rest = amount(said.text), said.text.partition("weight, ")[2]
    if amount(rest) != first:
        yield f"{said.text} These are two shares"


def gated(case: Case, said: Said) -> Iterator[str]:
    """X has no pod to schedule: N with scheduling gates."""
    tasks = case.cluster.pod_groups[said.about].tasks
    if _count(said) != sum(case.cluster.tasks[t].placement.status is TaskStatus.GATED for t in tasks):
        yield f"{said.text} There are others"


def stated(case: Case, said: Said) -> Iterator[str]:
    """It says what was not looked at: no claim about the cluster."""
    yield from ()
