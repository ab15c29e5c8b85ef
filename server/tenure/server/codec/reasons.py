"""Reasons: a code for programs, a sentence for people, and who says so."""

from typing import Final

from tenure.server.codec.recurring import Recurring
from tenure.server.codec.writing import message, number, tag, text
from tenure.solver.model.reason import ReasonCode
from tenure.v1 import decision_pb2 as pb

CODES: Final = {code: number(getattr(pb, f"REASON_CODE_{code.name}")) for code in ReasonCode}
"""Codes as the contract numbers them."""
_CODE: Final = tag(pb.Reason, "code")
_MESSAGE: Final = tag(pb.Reason, "message")
_SOURCE: Final = tag(pb.Reason, "source")
_UNTIL: Final = tag(pb.Reason, "until")


def encode_reason(
    recurring: Recurring, code: ReasonCode, sentence: str, source: str, until: int | None = None
) -> bytes:
    """A reason that holds until then, in nanoseconds; None: until something changes."""
    fields = [_CODE, CODES[code], _MESSAGE, text(sentence), _SOURCE, recurring.word(source)]
    if until is not None:
        fields += [_UNTIL, recurring.moment(until)]
    return message(fields)
