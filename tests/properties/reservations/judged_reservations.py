"""The check `reservations`: promised starts are kept and no pod group starves (P17.1-P17.3).

The judge keeps a book of what was promised and of what started when. It knows time limits and arrivals, and
nothing of the solver. Cycles run when something arrives or ends, at the wake time of the last one, and half a
minute after evictions. In every second sequence all pod groups end by their time limits, or by their expected
runtimes if they have those instead; in the others some run longer. In some, the queues have limits or quotas.
Where two queues have all capacity as quotas, P17.2 counts the time in which a pod group is within its share.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

import typer
from tenure.solver.model.caller_state import Certainty, PlannedStart, StartDelay
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.checks import Counts
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.draw import Draw, SeededDraw
from tests.solver.reservations.play import MINUTE, Play, profile_with

BATCH: Final = 10
LAST: Final = 3 * 24 * 60
"""Minutes after which a sequence ends in any case."""
WAIT: Final = 5
"""The longest minWait."""
SLACK: Final = 3
"""Minutes after the promised start: evictions of backfills, and the cycle that binds."""


class Job(NamedTuple):
    """One pod group; times in minutes."""

    name: str
    queue: str
    arrival: int
    gpus: int
    pods: int
    limit: int | None
    is_preemptible: bool
    runtime: int


class Story(NamedTuple):
    """One sequence."""

    nodes: tuple[int, ...]
    """GPUs of each node."""
    queues: tuple[str, ...]
    jobs: tuple[Job, ...]
    arguments: dict[str, str]
    is_honest: bool
    bounds: dict[str, int]
    """Limit or quota of every queue, in GPUs."""
    is_expected: bool = False
    """Whether pod groups have expected runtimes in place of time limits."""
    is_shared: bool = False
    """Whether several queues have all capacity as their quotas, and every pod group fits in its own."""


def draw_story(draw: Draw) -> Story:
    """A small cluster on which large pod groups wait behind small ones, or before a stream of them."""
    if draw.chance(15):
        return _draw_stream(draw)
    if draw.chance(20):
        return _draw_leaves(draw)
    nodes = tuple([draw.choice((2, 4, 4, 8)) for _ in range(draw.integer(1, 4))])
    queues = ("a",) if draw.chance(60) else ("a", "b")
    is_honest = draw.chance(50)
    jobs = [_job(draw, number, nodes, queues, is_honest) for number in range(draw.integer(4, 14))]
    arguments = {
        "minWait": draw.choice(("0s", "0s", "5m")),
        "perQueue": draw.choice(("1", "1", "2")),
        "maxFraction": draw.choice(("0.25", "1")),
    }
    bounds: dict[str, int] = {}
    if draw.chance(40):
        most = max(job.gpus * job.pods for job in jobs)
        bounds[draw.choice(("limit", "quota"))] = most + draw.choice((0, 0, 1, 2))
    return Story(nodes, queues, tuple(jobs), arguments, is_honest, bounds, draw.chance(30))


def _draw_stream(draw: Draw) -> Story:
    """One that needs a whole node, or all that its queue may use, and arrivals that always find a place."""
    gpus, limit, is_firm = draw.choice((4, 8)), draw.choice((20, 40, 60)), draw.chance(50)
    jobs = [Job("big", "a", draw.integer(1, 30), gpus, 1, limit, False, limit)]
    for number in range(5 * gpus):
        arrival, runtime = number * limit // gpus, draw.choice((limit, limit, limit - 5))
        jobs.append(Job(f"j{number:02}", "a", arrival, 1, 1, limit, not is_firm and draw.chance(30), runtime))
    bounds = draw.choice(({}, {"limit": gpus}, {"quota": gpus}))
    arguments = {"minWait": draw.choice(("0s", "5m")), "perQueue": "1", "maxFraction": "0.25"}
    nodes = (gpus, gpus) if bounds and (is_firm or "limit" in bounds) else (gpus,)
    return Story(nodes, ("a",), tuple(jobs), arguments, True, bounds)


def _draw_leaves(draw: Draw) -> Story:
    """Two queues that have all capacity as their quotas, and pod groups that fit these, with time limits."""
    size, queues = draw.choice((4, 8)), ("a", "b")
    nodes = (size,) * draw.choice((2, 2, 4))
    quota, jobs = sum(nodes) // 2, list[Job]()
    small = draw.choice((1, 2, 6))
    for number in range(draw.integer(6, 12) * small):
        gpus, limit = draw.choice((1,) * small + (1, 2, size)), draw.choice((20, 30, 60, 90))
        pods = draw.integer(1, quota // gpus) if draw.chance(40) else 1
        arrival, runtime = draw.integer(0, 180), limit if draw.chance(70) else limit // 2
        is_preemptible = draw.chance(30)
        queue = draw.choice(queues)
        jobs.append(Job(f"j{number:02}", queue, arrival, gpus, pods, limit, is_preemptible, runtime))
    arguments = {"minWait": draw.choice(("0s", "5m")), "perQueue": "1", "maxFraction": "1"}
    return Story(nodes, queues, tuple(jobs), arguments, True, {"quota": quota}, is_shared=True)


def _job(draw: Draw, number: int, nodes: tuple[int, ...], queues: tuple[str, ...], is_honest: bool) -> Job:
    gpus = min(draw.choice((1, 1, 1, 2, 4, 8)), max(nodes))
    most = sum(each // gpus for each in nodes)
    pods = min(draw.choice((1, 1, 1, 2, 3)), most)
    is_preemptible = draw.chance(40)
    limit = None if is_preemptible and draw.chance(40) else draw.choice((20, 30, 60, 60, 90, 180))
    runtime = draw.choice((15, 30, 60, 120)) if limit is None else limit
    if limit is not None and draw.chance(30):
        runtime = max(5, limit // 2) if is_honest or draw.chance(50) else limit * 2
    arrival = draw.choice((0, 0, draw.integer(0, 240)))
    return Job(f"j{number:02}", draw.choice(queues), arrival, gpus, pods, limit, is_preemptible, runtime)


def build(story: Story) -> Play:
    """The story before its first cycle."""
    builder = ClusterBuilder()
    for number, gpus in enumerate(story.nodes):
        builder.node(f"n{number}", gpus=gpus)
    for name in story.queues:
        builder.queue(name, **story.bounds)  # type: ignore[arg-type]
    for job in sorted(story.jobs, key=lambda job: (job.arrival, job.name)):
        mode = Preemptibility.PREEMPTIBLE if job.is_preemptible else Preemptibility.NON_PREEMPTIBLE
        kind = "expected_runtime" if story.is_expected else "time_limit"
        options = {} if job.limit is None else {kind: f"{job.limit}m"}
        builder.pending(
            job.name,
            queue=job.queue,
            gpus=job.gpus,
            count=job.pods,
            preemptibility=mode,
            created_ago=f"{LAST - job.arrival}m",
            **options,  # type: ignore[arg-type]
        )
    profile = profile_with(("allocate", "reservation"), **story.arguments)
    return Play(builder.build(), profile, absent=[job.name for job in story.jobs])


class Book:
    """What was promised, and what contradicts it."""

    def __init__(self, story: Story, begin: int) -> None:
        self._story, self._begin = story, begin
        self._promises = {Certainty.BOUNDED, Certainty.EXPECTED} if story.is_expected else {Certainty.BOUNDED}
        """Certainties of planned starts that are promises."""
        self._jobs = {job.name: job for job in story.jobs}
        self._first: dict[str, float] = {}
        """The first promised start of each pod group."""
        self._rows: dict[str, PlannedStart] = {}
        limits = [job.limit for job in story.jobs if job.limit is not None]
        is_judged = story.is_honest and story.arguments["perQueue"] == "1"
        is_judged = is_judged and (len(story.queues) == 1 or story.is_shared)
        self._longest = max(limits) if is_judged and len(limits) == len(story.jobs) else None
        """The longest time limit of a sequence that P17.2 is about."""
        self._order: list[str] = []
        """What waits, in order."""
        self._latest: dict[str, float] = {}
        """By when each pod group has to start."""
        self.started: dict[str, float] = {}
        self.overran = False
        self.counts: Counter[str] = Counter()

    def note_arrivals(self, now: float, names: Sequence[str], waiting: Iterable[str]) -> None:
        """These wait from now on, behind those of their queue that came before them (P17.2)."""
        self._order = sorted(waiting, key=self._place)
        for name in names:
            self._set_latest(name, now)

    def _set_latest(self, name: str, now: float) -> None:
        if self._longest is not None:
            queue = self._jobs[name].queue
            place = [other for other in self._order if self._jobs[other].queue == queue].index(name) + 1
            self._latest[name] = now + place * (self._longest + SLACK) + WAIT

    def _begin_again(self, now: float, running: Iterable[str]) -> None:
        """The time of P17.2 begins again where more runs in a queue than leaves it within its share."""
        used = Counter[str]()
        for job in [self._jobs[name] for name in running]:
            used[job.queue] += job.gpus * job.pods
        for name in self._latest.keys() & set(self._order):
            job = self._jobs[name]
            if used[job.queue] + job.gpus * job.pods > self._story.bounds["quota"]:
                self._set_latest(name, now)

    def judge(self, now: float, play: Play, result: CycleResult) -> Iterator[str]:
        """Violations of one cycle."""
        rows = {row.pod_group: row for row in result.planned_starts or ()}
        for name in rows:
            if name in self.started:
                yield "a pod group that runs has a planned start"
        for name, row in rows.items():
            yield from self._later(name, row)
            self.counts["reservations with a planned start"] += row.start is not None
            self.counts["reservations without one"] += row.start is None
            if row.start is not None and row.certainty in self._promises:
                self._first.setdefault(name, (row.start - self._begin) / MINUTE)
        yield from self._refused(now, play, result, rows)
        for name in play.running():
            if name not in self.started:
                self.started[name] = now
                self._order.remove(name)
                yield from self._kept(name, now)
        if self._story.is_shared:
            self._begin_again(now, play.running())
        self._rows = rows

    def note_eviction(self, name: str) -> None:
        """It waits again. What was promised to those behind it in its queue excepts such arrivals (P17.1)."""
        self.started.pop(name, None)
        self._latest = {
            other: at for other, at in self._latest.items() if self._place(other) < self._place(name)
        }
        own = self._jobs[name]
        for other in [self._jobs[each] for each in self._first]:
            is_behind = (other.arrival, other.name) > (own.arrival, own.name)
            if other.queue == own.queue and is_behind:
                del self._first[other.name]

    def _place(self, name: str) -> tuple[int, str]:
        return self._jobs[name].arrival, name

    def _kept(self, name: str, now: float) -> Iterator[str]:
        latest = self._latest.pop(name, None)
        if latest is not None:
            self.counts["starts within their number in order times the longest limit"] += now <= latest
            if now > latest:
                yield "a pod group starts later than its number in order times the longest time limit"
        promised = self._first.pop(name, None)
        if promised is None:
            return
        self.counts["starts with a promise"] += 1
        self.counts["starts after the promise"] += now > promised + SLACK
        if self._story.is_honest and len(self._story.queues) == 1 and now > promised + SLACK:
            yield "a pod group starts after its first promised time, though all end by their limits"

    def _later(self, name: str, row: PlannedStart) -> Iterator[str]:
        before = self._rows.get(name)
        if before is None or before.start is None or before.certainty not in self._promises:
            return
        if row.start is not None and row.start <= before.start:
            return
        self.counts["promises that moved"] += 1
        if row.delayed_by is StartDelay.UNSPECIFIED:
            yield "a promise moves to a later time, and nothing says why"
        if row.delayed_by is StartDelay.OVERRUN and not self.overran:
            yield "a promise moves because of a pod group that runs too long, but none does"

    def _refused(
        self, now: float, play: Play, result: CycleResult, rows: dict[str, PlannedStart]
    ) -> Iterator[str]:
        """P17.3: who ends in time, or fits what reservations leave, is not refused for one."""
        starts = [(row.start - self._begin) / MINUTE for row in self._rows.values() if row.start is not None]
        has_others = any(row.start is None for row in self._rows.values())
        for outcome in result.outcomes:
            job = self._jobs[play.cluster.pod_groups[outcome.pod_group].facts.uid]
            if outcome.reason.code is not ReasonCode.RESERVED:
                continue
            is_judged = self._story.is_honest and not self._story.bounds and job.pods == 1
            if is_judged and not any(group.evictions for group in result.groups):
                self.counts["refused single pods"] += 1
                for node in range(len(self._story.nodes)):
                    if all(self._is_spare(job.gpus, node, now, play, each) for each in (rows, self._rows)):
                        yield "a pod that fits what reservations leave is refused for one"
            if job.limit is None or self._story.is_expected:
                continue
            self.counts["refused for a reservation"] += 1
            if starts and not has_others and now + job.limit <= min(starts):
                yield "a pod group that ends before all planned starts is refused for a reservation"

    def _is_spare(self, gpus: int, node: int, now: float, play: Play, rows: dict[str, PlannedStart]) -> bool:
        """Whether a node has so many GPUs idle, and at every planned start beyond what is reserved on it."""
        groups, size = play.cluster.pod_groups, self._story.nodes[node]
        there = [task for task in play.cluster.tasks if task.placement.is_present_on(node)]
        used = [self._jobs[groups[task.pod_group].facts.uid] for task in there]
        here = [
            (row.start, self._jobs[name].gpus * place.pods)
            for name, row in rows.items()
            for place in row.places
            if place.node == node
        ]
        if size - sum(job.gpus for job in used) < gpus or any(start is None for start, _ in here):
            return False
        reserved = sum(amount for _, amount in here)
        first = min([(start - self._begin) / MINUTE for start, _ in here if start is not None], default=now)
        stays = [j for j in used if j.limit is None or self.started.get(j.name, now) + j.limit > first]
        return not here or size - reserved - sum(job.gpus for job in stays) >= gpus


def play_story(seed: int) -> tuple[list[str], Counter[str]]:
    """What is wrong in one sequence, and what it contained."""
    story = draw_story(SeededDraw(seed))
    play = build(story)
    book, wrong = Book(story, play.cluster.now), list[str]()
    jobs = {job.name: job for job in story.jobs}
    arrived: set[str] = set()
    ended: set[str] = set()
    begun: dict[str, float] = {}
    now = 0.0
    while len(ended) < len(jobs) and now < LAST:
        due = [name for name, job in jobs.items() if job.arrival <= now and name not in arrived]
        play.arrive(*due)
        arrived.update(due)
        book.note_arrivals(now, due, arrived - ended - begun.keys())
        over = [name for name, at in begun.items() if at + jobs[name].runtime <= now]
        play.end(*over)
        ended.update(over)
        for name in over:
            del begun[name]
        late = [n for n, at in begun.items() if (limit := jobs[n].limit) is not None and at + limit <= now]
        book.overran = book.overran or bool(late)
        result = play.cycle(now, ends_by_limits=False)
        wrong += list(book.judge(now, play, result))
        running = set(play.running())
        for name in begun.keys() - running:
            book.note_eviction(name)
            book.counts["evictions"] += 1
            del begun[name]
        for name in running - begun.keys():
            begun[name] = now
        times: list[float] = [job.arrival for name, job in jobs.items() if name not in arrived]
        times += [at + jobs[name].runtime for name, at in begun.items()]
        if result.next_wake_time is not None:
            times.append((result.next_wake_time - book._begin) / MINUTE)
        evicts = any(group.evictions for group in result.groups)
        times.append(now + (0.5 if evicts else 60))
        now = min([each for each in times if each > now], default=now + 60)
    if len(ended) < len(jobs):
        wrong.append("a pod group never starts")
    return wrong, book.counts


def judge(seed: int) -> Counter[str]:
    """Counts of one sequence."""
    wrong, counts = play_story(seed)
    for each in sorted(set(wrong)):
        print(f"seed {seed}: {each}", flush=True)
    counts["wrong"] = bool(wrong)
    return counts


def main(
    sequences: Annotated[int, typer.Option(help="Number of random sequences of cycles.")] = 10_000,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
) -> Counts:
    """Judge reservations on random sequences of cycles."""
    total = count_all(judge, range(first, first + sequences), sequences, BATCH, "Sequences of cycles")
    return report(total, sequences)
