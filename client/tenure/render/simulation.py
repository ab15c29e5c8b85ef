"""Text of simulations (changed outcomes by cycle) and of explanations, with the table of starts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.console import Console
from rich.text import Text
from tenure.render.notices import wait_text
from tenure.render.response_view import ResponseView
from tenure.render.sections import WAITING_KINDS, outcome_text, render_headline, render_summary
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_clock, format_count, format_gpus, format_remaining, join_words
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainResponse, Explanation, StartEstimate
from tenure.v1.snapshot_pb2 import Certainty, ClusterSnapshot

AUDIENCES = ("public", "tenant", "operator")


def print_explanation(console: Console, response: ExplainResponse, audience: str) -> None:
    """Print the text for an audience, then the remedies; those that change least come first."""
    console.print(Text(getattr(response.explanation, audience)))
    if response.remedies:
        console.print("\nRemedies:", highlight=False)
        for remedy in response.remedies:
            console.print(Text(f"· {getattr(remedy.explanation, audience)}"))


_START_COLUMNS = (
    TableColumn("Pod group"),
    TableColumn("Queue"),
    TableColumn("Place", right=True),
    TableColumn("GPUs ahead", right=True),
    TableColumn("Starts", wraps=True),
    TableColumn("At the latest", wraps=True),
)


def print_start_estimates(
    console: Console,
    estimates: Iterable[StartEstimate],
    snapshot: ClusterSnapshot,
    earlier: Collection[StartEstimate] = (),
) -> None:
    """Print one row for each pod group, by queue and place; with starts without the changes, if any."""
    before = {each.pod_group: _start_text(each, snapshot.now.ToNanoseconds()) for each in earlier}
    groups = {group.uid: group for group in snapshot.pod_groups}
    now = snapshot.now.ToNanoseconds()
    ordered = sorted(
        estimates,
        key=lambda each: (groups[each.pod_group].queue, each.position, each.pod_group),
    )
    rows = []
    for each in ordered:
        group = groups[each.pod_group]
        latest = each.latest_start.ToNanoseconds() if each.HasField("latest_start") else None
        cells = (
            *(group.name or group.uid, group.queue),
            str(each.position) if each.position else "",
            format_gpus(each.gpu_milli_ahead),
            _start_text(each, now),
            "" if latest is None else format_remaining(latest, now),
            *((before.get(each.pod_group, "does not wait"),) if before else ()),
        )
        rows.append(TableRow(cells, (group.queue,)))
    columns = (*_START_COLUMNS, TableColumn("Without the changes", wraps=True)) if before else _START_COLUMNS
    TableSection("When they start", columns, ("Queue",), rows).print(console)


def _start_text(estimate: StartEstimate, now: int) -> str:
    if not estimate.HasField("likely_start"):
        return "not known"
    start = estimate.likely_start.ToNanoseconds()
    if start <= now:
        return "in this cycle"
    last = estimate.likely_start_by.ToNanoseconds() if estimate.HasField("likely_start_by") else start
    if estimate.certainty == Certainty.CERTAINTY_BOUNDED:
        return f"by {format_remaining(last, now)}"
    first, about = estimate.earliest_start.ToNanoseconds(), f"about {format_remaining(start, now)}"
    if first >= last:
        return about
    return f"{about}, between {format_clock(first, now)} and {format_clock(last, now)}"


def readable_by(response: ExplainResponse, audience: str) -> ExplainResponse:
    """The response reduced to what an audience may read. Facts are for operators."""
    if audience == "operator":
        return response
    kept = ExplainResponse(explanation=_only(response.explanation, audience), remedies=response.remedies)
    for remedy in kept.remedies:
        remedy.explanation.CopyFrom(_only(remedy.explanation, audience))
    if response.HasField("until"):
        kept.until.CopyFrom(response.until)
    return kept


def _only(text: Explanation, audience: str) -> Explanation:
    return Explanation(**{audience: getattr(text, audience)})


NO_CHANGE = "keeps running"
_NO_SIDE_EFFECT = "Simulation only; the cluster was not changed."


class Comparison(NamedTuple):
    """Responses of a cycle without and with the changes, and the headings of the two."""

    before: ResponseView
    after: ResponseView
    headings: tuple[str, str]


class CycleRun(NamedTuple):
    """Consecutive cycles with equal outcomes, by their numbers, and the first and the last of them."""

    numbers: range
    first: Comparison
    last: Comparison


def print_cycles(console: Console, cycles: Sequence[ResponseView]) -> None:
    """Print what happens in simulated cycles without a change; consecutive equal cycles once."""
    for run in cycle_runs([Comparison(view, view, ("", "")) for view in cycles]):
        title = _title(run) if len(cycles) > 1 else render_headline(cycles[0])
        console.print(Text(title, style="bold"), "\n", sep="")
        replace(same_events(run.first), title="What happens").print(console)
    console.print(_NO_SIDE_EFFECT, highlight=False)


def print_simulation(
    console: Console,
    plain: Sequence[ResponseView],
    changed: Sequence[ResponseView],
    headings: tuple[str, str] = ("Baseline", "With the changes"),
) -> None:
    """Print the changed outcomes, compared with the cycles of `plain`; consecutive equal cycles once.

    Of several cycles, what happens in both is printed too. A changed outcome is printed when it begins.
    """
    cycles = [Comparison(before, after, headings) for before, after in zip(plain, changed, strict=False)]
    if len(cycles) == 1:
        _print_cycle(console, render_headline(cycles[0].after), differences(cycles[0]), [])
    earlier: list[TableRow] = []
    for run in cycle_runs(cycles) if len(cycles) > 1 else ():
        found = differences(run.first)
        _print_cycle(console, _title(run), found, earlier)
        same_events(run.first).print(console)
        earlier = found.rows
    console.print(_NO_SIDE_EFFECT, highlight=False)


def _print_cycle(console: Console, title: str, found: TableSection, earlier: list[TableRow]) -> None:
    console.print(Text(title, style="bold"), "\n", sep="")
    known = set(earlier)
    rows = [row for row in found.rows if row not in known]
    replace(found, rows=rows).print(console)
    if not found.rows:
        console.print("No outcome changes.\n", highlight=False)
    elif len(rows) < len(found.rows):
        repeated = format_count(len(found.rows) - len(rows), "changed outcome")
        console.print(f"{repeated} as in the cycle before.\n", highlight=False)


def _title(run: CycleRun) -> str:
    start, end = run.first.after.now, run.last.after.now
    if len(run.numbers) == 1:
        title = f"Cycle {run.numbers[0]}, {format_clock(start, start)}"
    else:
        numbers = f"Cycles {run.numbers[0]} to {run.numbers[-1]}"
        title = f"{numbers}, {format_clock(start, start)} to {format_clock(end, start)}"
    return f"{title}: {render_summary(run.first.after)}"


def cycle_runs(cycles: Iterable[Comparison]) -> list[CycleRun]:
    """Cycles, with those that are equal to the one before joined to it."""
    runs: list[CycleRun] = []
    key: object = None
    for number, cycle in enumerate(cycles, start=1):
        found = _cycle_key(cycle.before), _cycle_key(cycle.after)
        if runs and found == key:
            runs[-1] = runs[-1]._replace(numbers=range(runs[-1].numbers[0], number + 1), last=cycle)
        else:
            runs.append(CycleRun(range(number, number + 1), cycle, cycle))
        key = found
    return runs


def _cycle_key(view: ResponseView) -> object:
    """What happens in a cycle, without texts: those may name the time that is left."""
    outcomes = [
        (
            *(each.pod_group, each.kind, each.reason.code, each.reason.source),
            *(each.reason.until.ToNanoseconds(), each.bound, each.reserved, each.pending),
        )
        for each in view.response.outcomes
    ]
    evictions = Counter(
        (view.owner(each.evict.pod), each.evict.preemptor) for _, each in view.decisions("evict")
    )
    return sorted(outcomes), evictions, _notices(view)


def differences(cycle: Comparison) -> TableSection:
    """Pod groups with another outcome, by queue and uid."""
    rows = [_row(cycle, uid, old, new) for uid, old, new in _compared(cycle) if old != new]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        *(TableColumn(heading, wraps=True) for heading in cycle.headings),
    )
    return TableSection("Changed outcomes", columns, ("Queue",), rows)


def same_events(cycle: Comparison) -> TableSection:
    """Pod groups that are scheduled, evicted or given reservations, with and without the changes."""
    events = {uid for view in (cycle.before, cycle.after) for uid in _events(view)}
    rows = [_row(cycle, uid, new) for uid, old, new in _compared(cycle) if old == new and uid in events]
    columns = (TableColumn("Pod group"), TableColumn("Queue"), TableColumn("Outcome", wraps=True))
    return TableSection("Same in both", columns, ("Queue",), rows)


def _row(cycle: Comparison, uid: str, *texts: str) -> TableRow:
    queue = _queue(cycle, uid)
    return TableRow((_name(cycle, uid), queue, *texts), (queue,))


def _compared(cycle: Comparison) -> Iterator[tuple[str, str, str]]:
    """Uid and both results of every pod group with pods to schedule or to evict, by queue and uid."""
    before, after, _ = cycle
    results = _results(before), _results(after)
    for uid in sorted({*results[0], *results[1]}, key=lambda uid: (_queue(cycle, uid), uid)):
        yield uid, _result(before, results[0], uid), _result(after, results[1], uid)


def _events(view: ResponseView) -> Iterator[str]:
    """Uids of pod groups that this cycle schedules, evicts, tells of an eviction or gives reservations."""
    yield from (view.owner(decision.evict.pod) for _, decision in view.decisions("evict"))
    yield from (uid for uid, _ in _notices(view))
    kinds = (pb.OUTCOME_KIND_BOUND, *WAITING_KINDS)
    yield from (outcome.pod_group for outcome in view.response.outcomes if outcome.kind in kinds)


def _results(view: ResponseView) -> dict[str, str]:
    """Outcome of every pod group that has pods to schedule, to evict, or with a notice of eviction."""
    evicted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, decision in view.decisions("evict"):
        evicted[view.owner(decision.evict.pod)][decision.evict.preemptor] += 1
    results = {uid: _evicted_text(view, pods) for uid, pods in evicted.items()}
    for (uid, text), pods in sorted(_notices(view).items()):
        result = f"{text}: {format_count(pods, 'pod')}"
        results[uid] = f"{results[uid]}; {result}" if uid in results else result
    for outcome in view.response.outcomes:
        text = _outcome(view, outcome)
        uid = outcome.pod_group
        results[uid] = f"{results[uid]}; {text}" if uid in results else text
    return results


def _notices(view: ResponseView) -> Counter[tuple[str, str]]:
    """Notices that are given and withdrawn, by pod group and text, with their numbers of pods."""
    found = Counter[tuple[str, str]]()
    for _, decision in view.decisions("notify"):
        notice = decision.notify
        end = format_remaining(notice.evict_time.ToNanoseconds(), view.now)
        found[notice.pod_group, f"notice of eviction at {end} for {view.name(notice.preemptor)}"] += 1
    for _, decision in view.decisions("withdraw_notice"):
        spared = decision.withdraw_notice
        found[spared.pod_group, f"notice withdrawn for {view.name(spared.preemptor)}"] += 1
    return found


def _evicted_text(view: ResponseView, pods: Counter[str]) -> str:
    parts = [f"{format_count(number, 'pod')} for {view.name(uid)}" for uid, number in sorted(pods.items())]
    return f"evicted: {join_words(parts)}"


def _outcome(view: ResponseView, outcome: pb.PodGroupOutcome) -> str:
    if outcome.kind == pb.OUTCOME_KIND_BOUND:
        return f"{format_count(outcome.bound, 'pod')} scheduled"
    if outcome.kind in WAITING_KINDS:
        return f"{format_count(outcome.reserved, 'pod')} waiting for capacity{wait_text(view, outcome)}"
    return outcome_text(outcome)


def _result(view: ResponseView, results: dict[str, str], uid: str) -> str:
    return results.get(uid, NO_CHANGE if uid in view.pod_groups else "does not exist")


def _name(cycle: Comparison, uid: str) -> str:
    return (cycle.after if uid in cycle.after.pod_groups else cycle.before).name(uid)


def _queue(cycle: Comparison, uid: str) -> str:
    return cycle.after.queue(uid) or cycle.before.queue(uid)
