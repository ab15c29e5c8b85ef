"""Text of simulations (changed outcomes by cycle) and of explanations."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text
from tenure.render.response_view import ResponseView
from tenure.render.sections import WAITING_KINDS, outcome_text, render_headline
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_count, join_words
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainResponse, Explanation

AUDIENCES = ("public", "tenant", "operator")


def print_explanation(console: Console, response: ExplainResponse, audience: str) -> None:
    """Print the text for an audience, then the remedies; those that change least come first."""
    console.print(Text(getattr(response.explanation, audience)))
    if response.remedies:
        console.print("\nRemedies:", highlight=False)
        for remedy in response.remedies:
            console.print(Text(f"· {getattr(remedy.explanation, audience)}"))


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


NO_CHANGE = "unchanged"


def print_simulation(
    console: Console, plain: Sequence[ResponseView], changed: Sequence[ResponseView]
) -> None:
    """Print the changed outcomes of each cycle, compared with the snapshot without the changes."""
    for number, (before, after) in enumerate(zip(plain, changed, strict=False), start=1):
        title = f"Cycle {number}. " if len(plain) > 1 else ""
        console.print(Text(f"{title}{render_headline(after)}", style="bold"), "\n", sep="")
        found = differences(before, after)
        found.print(console)
        if not found.rows:
            console.print("No outcome changes.\n", highlight=False)
    console.print("Simulation only; the cluster was not changed.", highlight=False)


def differences(before: ResponseView, after: ResponseView) -> TableSection:
    """Pod groups with another outcome, by queue and uid."""
    results = _results(before), _results(after)
    uids = sorted({*results[0], *results[1]}, key=lambda uid: (_queue(before, after, uid), uid))
    rows = [
        TableRow(
            (_name(before, after, uid), _queue(before, after, uid), _result(before, results[0], uid), text),
            (_queue(before, after, uid),),
        )
        for uid in uids
        if (text := _result(after, results[1], uid)) != _result(before, results[0], uid)
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Baseline", wraps=True),
        TableColumn("With the changes", wraps=True),
    )
    return TableSection("Changed outcomes", columns, ("Queue",), rows)


def _results(view: ResponseView) -> dict[str, str]:
    """Outcome of every pod group that has pods to schedule or to evict."""
    evicted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, decision in view.decisions("evict"):
        evicted[view.owner(decision.evict.pod)][decision.evict.preemptor] += 1
    results = {uid: _evicted_text(view, pods) for uid, pods in evicted.items()}
    for outcome in view.response.outcomes:
        text = _outcome(view, outcome)
        uid = outcome.pod_group
        results[uid] = f"{results[uid]}; {text}" if uid in results else text
    return results


def _evicted_text(view: ResponseView, pods: Counter[str]) -> str:
    parts = [f"{format_count(number, 'pod')} for {view.name(uid)}" for uid, number in sorted(pods.items())]
    return f"evicted: {join_words(parts)}"


def _outcome(view: ResponseView, outcome: pb.PodGroupOutcome) -> str:
    if outcome.kind == pb.OUTCOME_KIND_BOUND:
        return f"{format_count(outcome.bound, 'pod')} scheduled"
    if outcome.kind in WAITING_KINDS:
        return f"{format_count(outcome.reserved, 'pod')} waiting for capacity"
    return outcome_text(outcome)


def _result(view: ResponseView, results: dict[str, str], uid: str) -> str:
    return results.get(uid, NO_CHANGE if uid in view.pod_groups else "does not exist")


def _name(before: ResponseView, after: ResponseView, uid: str) -> str:
    return after.name(uid) if uid in after.pod_groups else before.name(uid)


def _queue(before: ResponseView, after: ResponseView, uid: str) -> str:
    return after.queue(uid) or before.queue(uid)
