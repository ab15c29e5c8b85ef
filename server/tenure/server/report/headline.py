"""What happened, in one sentence."""

from tenure.server.report.sections import SOON
from tenure.server.report.words import clock, count, listed
from tenure.server.view import View
from tenure.v1 import decision_pb2 as pb


def headline(view: View) -> str:
    """One sentence about the pod groups that had pods to schedule, and about those that make room."""
    kinds = [outcome.kind for outcome in view.response.outcomes]
    bound, soon = kinds.count(pb.OUTCOME_KIND_BOUND), sum(kind in SOON for kind in kinds)
    later = len(kinds) - bound - soon
    parts = [
        f"{count(bound, 'pod group')} {_verb(bound, 'start')} now" if bound else "",
        f"{soon:,} {_verb(soon, 'start')} as soon as {_what_leaves(view)}" if soon else "",
        f"{later:,} must wait" if later else "",
    ]
    said = listed([part for part in parts if part]) or "no pod group has pods to schedule"
    return f"At {clock(view.now, view.now)}: {said}{_what_returns(view)}."


def _what_leaves(view: View) -> str:
    pods = sum(1 for _ in view.steps("evict"))
    return f"{count(pods, 'pod')} of others {_verb(pods, 'leave')}" if pods else "room is released"


def _what_returns(view: View) -> str:
    number = sum(each.result == pb.NOMINATION_RESULT_REQUEUED for each in view.response.nominations)
    whose = "its queue" if number == 1 else "their queues"
    what = f"{number:,} that ran longer than expected {_verb(number, 'return')} to {whose}"
    return f"; {what}" if number else ""


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb
