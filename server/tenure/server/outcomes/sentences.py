"""Verdicts in words."""

from collections.abc import Sequence

from tenure.server.codec.printable import printable
from tenure.v1 import outcome_pb2 as pb


def said(fate: pb.GroupFate, is_over: bool, refused: Sequence[pb.StepReport]) -> str:
    """Why, and what to do, in one sentence."""
    match fate:
        case pb.GROUP_FATE_FINISHED:
            return "nothing of it is left to do"
        case pb.GROUP_FATE_IN_FLIGHT:
            return "steps of it are left to do"
        case pb.GROUP_FATE_RETRY:
            return f"{_refusal(refused)}; it may be tried again"
    why = "its time is over" if is_over else _refusal(refused)
    return f"{why}: take no further step of it"


def _refusal(refused: Sequence[pb.StepReport]) -> str:
    """The first step that was refused, and how many others were."""
    first, others = refused[0], len(refused) - 1
    more = f", as were {others} more" if others else ""
    is_stale = first.result == pb.STEP_RESULT_REJECTED_PRECONDITION
    why = "what it relied on has changed" if is_stale else "the cluster refused it"
    return f"step {printable(first.decision_id)} was not taken, for {why}{more}"
