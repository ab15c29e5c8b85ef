"""Reasons in words that everybody may read.

`Reason.message` is for operators: it names whoever matters. The owner of a pod that is evicted must not learn
from it for whom. A reason's code and time name nobody, so what they say is said here.
"""

from collections.abc import Mapping
from typing import Final

from tenure.v1 import decision_pb2 as pb

_SENTENCES: Final[Mapping[int, str]] = {
    pb.REASON_CODE_ALLOCATED: "It starts: there is room.",
    pb.REASON_CODE_PIPELINED: "Room for it is being released; it starts when that is free.",
    pb.REASON_CODE_RECLAIMED: "It yields to a workload of a queue that is below its fair share.",
    pb.REASON_CODE_PREEMPTED: "It yields to a workload of higher priority in its queue.",
    pb.REASON_CODE_CONSOLIDATED: "It moves, so that scattered room becomes usable.",
    pb.REASON_CODE_STALE_GANG: "It ran with fewer pods than its minimum for too long.",
    pb.REASON_CODE_VICTIMS_EVICTED: "Room is being made for it; it starts when that is free.",
    pb.REASON_CODE_FIELD_UPDATED: "Something about it is written down.",
    pb.REASON_CODE_REQUEUED: "It ran longer than expected and yields to a workload of higher priority.",
    pb.REASON_CODE_NOT_READY: "It has fewer pods than its minimum.",
    pb.REASON_CODE_INVALID_QUEUE: "Its queue does not exist or has queues below it.",
    pb.REASON_CODE_OVER_LIMIT: "A limit of its queue, or of one above, is reached.",
    pb.REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA: "It is not preemptible, and the quota for that is used up.",
    pb.REASON_CODE_OVER_FAIR_SHARE: "Its queue would exceed its fair share.",
    pb.REASON_CODE_NO_NODE_MATCHES: "No node fits it, not even an empty one.",
    pb.REASON_CODE_INSUFFICIENT_RESOURCES: "Nodes would fit it, but not enough is free.",
    pb.REASON_CODE_NO_SOLUTION: "No evictions that the rules allow would make room for it.",
    pb.REASON_CODE_BUDGET_EXHAUSTED: "The search ended before it was decided on; that is no verdict.",
    pb.REASON_CODE_PREEMPTION_DELAY: "It may not ask others to yield yet.",
    pb.REASON_CODE_SIMILAR_FAILED: "There was no room for a similar workload of its queue.",
    pb.REASON_CODE_MIN_RUNTIME: "It is protected until its minimum runtime is over.",
    pb.REASON_CODE_NON_PREEMPTIBLE: "It is protected: it is not preemptible.",
    pb.REASON_CODE_PRIORITY_NOT_LOWER: "Its priority is not lower.",
    pb.REASON_CODE_WITHIN_FAIR_SHARE: "Its queue is within its share.",
    pb.REASON_CODE_BLOCKED: "Something that one of its pods needs is missing.",
    pb.REASON_CODE_OPTED_OUT: "It is protected: it opts out.",
    pb.REASON_CODE_EVICTION_LIMIT: "It is protected: it was evicted often enough.",
    pb.REASON_CODE_NEAR_COMPLETION: "It is protected: its expected end is near.",
    pb.REASON_CODE_WAIT_LIMIT: "It is protected: it has waited long enough after evictions.",
    pb.REASON_CODE_EVICTION_COOLDOWN: "It is protected for a while from a workload that yielded to it.",
    pb.REASON_CODE_EVICTION_BACKOFF: "It is protected for a while: evicting it came to nothing.",
    pb.REASON_CODE_IN_PROGRESS: "What was asked for is under way.",
    pb.REASON_CODE_COMPLETED: "Nothing of it is left to do.",
    pb.REASON_CODE_EXPIRED: "Its time is over.",
    pb.REASON_CODE_GONE: "What it is about is gone.",
}
_UNKNOWN: Final = "The scheduler has decided so."
"""For codes of a newer version."""


def format_public_message(reason: pb.Reason) -> str:
    """What a reason says, without a name of anybody; times are RFC 3339 in UTC."""
    sentence = _SENTENCES.get(reason.code, _UNKNOWN)
    if not reason.HasField("until"):
        return sentence
    return f"{sentence} This may change at {reason.until.ToJsonString()}."
