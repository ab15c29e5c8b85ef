"""A simulation as text for people: in every cycle, what is different from what would happen anyway."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text
from tenure.server.report.headline import headline
from tenure.server.report.section import Column, Line, Section
from tenure.server.report.sections import SOON
from tenure.server.report.words import count, listed
from tenure.server.view import View
from tenure.v1 import decision_pb2 as pb

UNTOUCHED = "is left alone"


def print_simulation(console: Console, plain: Sequence[View], changed: Sequence[View]) -> None:
    """Prints the cycles of a simulation beside those of the snapshot as it is, one by one."""
    for number, (before, after) in enumerate(zip(plain, changed, strict=False), start=1):
        title = f"Cycle {number}. " if len(plain) > 1 else ""
        console.print(Text(f"{title}{headline(after)}", style="bold"), "\n", sep="")
        found = differences(before, after)
        found.print(console)
        if not found.lines:
            console.print("Nothing is different from what is decided anyway.\n", highlight=False)
    console.print("A simulation promises nothing: nobody was started or evicted.", highlight=False)


def differences(before: View, after: View) -> Section:
    """Pod groups with another fate, by queue and name."""
    fates = _fates(before), _fates(after)
    uids = sorted({*fates[0], *fates[1]}, key=lambda uid: (_queue(before, after, uid), uid))
    lines = [
        Line(
            (_name(before, after, uid), _queue(before, after, uid), _fate(before, fates[0], uid), told),
            (_queue(before, after, uid),),
        )
        for uid in uids
        if (told := _fate(after, fates[1], uid)) != _fate(before, fates[0], uid)
    ]
    columns = (
        Column("Pod group"),
        Column("Queue"),
        Column("As it is", wraps=True),
        Column("With the changes", wraps=True),
    )
    return Section("What is different", columns, ("Queue",), lines)


def _fates(view: View) -> dict[str, str]:
    """What becomes of every pod group that starts, waits or loses pods."""
    lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, decision in view.steps("evict"):
        lost[view.owner(decision.evict.pod)][decision.evict.beneficiary] += 1
    fates = {uid: _loses(view, pods) for uid, pods in lost.items()}
    for outcome in view.response.outcomes:
        told = _outcome(view, outcome)
        uid = outcome.pod_group
        fates[uid] = f"{fates[uid]}; {told}" if uid in fates else told
    return fates


def _loses(view: View, pods: Counter[str]) -> str:
    parts = [f"{count(number, 'pod')} to {view.name(uid)}" for uid, number in sorted(pods.items())]
    return f"loses {listed(parts)}"


def _outcome(view: View, outcome: pb.PodGroupOutcome) -> str:
    if outcome.kind == pb.OUTCOME_KIND_BOUND:
        return f"starts {count(outcome.bound, 'pod')} now"
    if outcome.kind in SOON:
        return f"starts {count(outcome.held, 'pod')} soon"
    return view.told(outcome.pod_group, outcome.reason.message).removesuffix(".")


def _fate(view: View, fates: dict[str, str], uid: str) -> str:
    return fates.get(uid, UNTOUCHED if uid in view.pod_groups else "does not exist")


def _name(before: View, after: View, uid: str) -> str:
    return after.name(uid) if uid in after.pod_groups else before.name(uid)


def _queue(before: View, after: View, uid: str) -> str:
    return after.queue(uid) or before.queue(uid)
