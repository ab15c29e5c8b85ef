"""A simulation as text for people: in every cycle, what is different from what would happen anyway.

An explanation as text for people: the answer, and what would help.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text
from tenure.render.response_view import ResponseView
from tenure.render.sections import WAITING_KINDS, render_headline
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_count, join_words
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainResponse, Explanation

AUDIENCES = ("public", "tenant", "operator")


def print_explanation(console: Console, response: ExplainResponse, audience: str) -> None:
    """Prints what a reader may know; remedies in the order of how little they change."""
    console.print(Text(getattr(response.explanation, audience)))
    if response.remedies:
        console.print("\nRemedies:", highlight=False)
        for remedy in response.remedies:
            console.print(Text(f"· {getattr(remedy.explanation, audience)}"))


def readable_by(response: ExplainResponse, audience: str) -> ExplainResponse:
    """The answer without what a reader may not know: other texts, and the facts, which are for operators."""
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
    """Prints the cycles of a simulation beside those of the snapshot as it is, one by one."""
    for number, (before, after) in enumerate(zip(plain, changed, strict=False), start=1):
        title = f"Cycle {number}. " if len(plain) > 1 else ""
        console.print(Text(f"{title}{render_headline(after)}", style="bold"), "\n", sep="")
        found = differences(before, after)
        found.print(console)
        if not found.rows:
            console.print("No outcome changes.\n", highlight=False)
    console.print("Simulation only; the cluster was not changed.", highlight=False)


def differences(before: ResponseView, after: ResponseView) -> TableSection:
    """Pod groups with another fate, by queue and name."""
    fates = _results(before), _results(after)
    uids = sorted({*fates[0], *fates[1]}, key=lambda uid: (_queue(before, after, uid), uid))
    lines = [
        TableRow(
            (_name(before, after, uid), _queue(before, after, uid), _result(before, fates[0], uid), told),
            (_queue(before, after, uid),),
        )
        for uid in uids
        if (told := _result(after, fates[1], uid)) != _result(before, fates[0], uid)
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Baseline", wraps=True),
        TableColumn("With the changes", wraps=True),
    )
    return TableSection("Changed outcomes", columns, ("Queue",), lines)


def _results(view: ResponseView) -> dict[str, str]:
    """What becomes of every pod group that starts, waits or loses pods."""
    lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, decision in view.decisions("evict"):
        lost[view.owner(decision.evict.pod)][decision.evict.preemptor] += 1
    fates = {uid: _evicted_text(view, pods) for uid, pods in lost.items()}
    for outcome in view.response.outcomes:
        told = _outcome(view, outcome)
        uid = outcome.pod_group
        fates[uid] = f"{fates[uid]}; {told}" if uid in fates else told
    return fates


def _evicted_text(view: ResponseView, pods: Counter[str]) -> str:
    parts = [f"{format_count(number, 'pod')} for {view.name(uid)}" for uid, number in sorted(pods.items())]
    return f"evicted: {join_words(parts)}"


def _outcome(view: ResponseView, outcome: pb.PodGroupOutcome) -> str:
    if outcome.kind == pb.OUTCOME_KIND_BOUND:
        return f"{format_count(outcome.bound, 'pod')} scheduled"
    if outcome.kind in WAITING_KINDS:
        return f"{format_count(outcome.reserved, 'pod')} waiting for capacity"
    return view.short_message(outcome.pod_group, outcome.reason.message).removesuffix(".")


def _result(view: ResponseView, results: dict[str, str], uid: str) -> str:
    return results.get(uid, NO_CHANGE if uid in view.pod_groups else "does not exist")


def _name(before: ResponseView, after: ResponseView, uid: str) -> str:
    return after.name(uid) if uid in after.pod_groups else before.name(uid)


def _queue(before: ResponseView, after: ResponseView, uid: str) -> str:
    return after.queue(uid) or before.queue(uid)
