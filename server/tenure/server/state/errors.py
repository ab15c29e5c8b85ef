"""Why a state cannot be used, changed or kept."""

from collections.abc import Sequence
from typing import Final

from tenure.terms.durations import format_duration
from tenure.v1 import state_pb2 as pb
from tenure.wire.limits import LimitExceeded
from tenure.wire.violations import FieldViolation

_RESYNC: Final = (pb.STATE_ERROR_CODE_UNKNOWN_STATE, pb.STATE_ERROR_CODE_VERSION_GAP)
"""Only a new full snapshot helps: what the server has is not what the caller thinks."""
_MAX_FIELDS: Final = 1_000
"""Most violating fields that one fault names; the message says how many there are."""


class StateError(Exception):
    """A state stays as it was, or was not there. The message says what to do."""

    def __init__(
        self, code: pb.StateErrorCode, message: str, violations: Sequence[FieldViolation] = ()
    ) -> None:
        self.code = code
        self.violations = tuple(violations)
        super().__init__(message)

    @property
    def resync_required(self) -> bool:
        """Whether only a new full snapshot helps."""
        return self.code in _RESYNC

    def message(self) -> pb.StateError:
        """The fault as the contract has it."""
        named = self.violations[:_MAX_FIELDS]
        fields = [pb.FieldViolation(field=field, description=description) for field, description in named]
        return pb.StateError(
            code=self.code, message=str(self), violations=fields, resync_required=self.resync_required
        )


def unknown_state(cluster_id: str, node_pool: str, epoch: str) -> StateError:
    """The server has no state of this cluster, node pool and epoch."""
    what = f"no state of cluster {cluster_id!r}, node pool {node_pool!r} and epoch {epoch!r} is kept here"
    return StateError(pb.STATE_ERROR_CODE_UNKNOWN_STATE, f"{what}: push a full snapshot (PutSnapshot)")


def no_state(cluster_id: str, node_pool: str) -> StateError:
    """The server has no state of this cluster and node pool, of any epoch."""
    what = f"no state of cluster {cluster_id!r} and node pool {node_pool!r} is kept here"
    told = f"{what}: are the names right, and does a scheduler push it (PutSnapshot)?"
    return StateError(pb.STATE_ERROR_CODE_UNKNOWN_STATE, told)


def version_gap(current: int, named: int) -> StateError:
    """The state has another version than the one that is named."""
    what = f"the state has version {current}, not {named}"
    return StateError(pb.STATE_ERROR_CODE_VERSION_GAP, f"{what}: push a full snapshot (PutSnapshot)")


def invalid_delta(violations: Sequence[FieldViolation]) -> StateError:
    """Rows violate the contract."""
    told = f"{len(violations)} field(s) are invalid: mend them and send the delta again"
    return StateError(pb.STATE_ERROR_CODE_INVALID, told, violations)


def clock_regression(current: str, named: str) -> StateError:
    """The clock went back; both times as text."""
    told = f"the time {named} is before that of the state, {current}: send a later one"
    return StateError(pb.STATE_ERROR_CODE_CLOCK_REGRESSION, told)


def stale_state(age: int, most: int) -> StateError:
    """The state is older than is accepted; both in nanoseconds."""
    told = f"the state is {format_duration(age)} old, more than {format_duration(most)}"
    return StateError(pb.STATE_ERROR_CODE_STALE, f"{told}: send what changed since, or set the clocks right")


def no_message(kind: str) -> StateError:
    """The bytes are no message of a kind."""
    told = f"the message is not a {kind}: mend it and send the delta again"
    return StateError(pb.STATE_ERROR_CODE_INVALID, told)


def too_many_rows(exceeded: LimitExceeded, whose: str = "state") -> StateError:
    """The state or the delta has more rows of a list than are accepted."""
    violation = FieldViolation(exceeded.field, f"has more than {exceeded.maximum:,}")
    return StateError(pb.STATE_ERROR_CODE_TOO_LARGE, f"in the {whose} {exceeded}", [violation])


def too_large(size: int, most: int) -> StateError:
    """The state has, or would have, more bytes than all states may have together."""
    told = f"the state would have {size:,} bytes, more than {most:,}"
    return StateError(
        pb.STATE_ERROR_CODE_TOO_LARGE, f"{told}: send less, or raise server.maxStateMib in the configuration"
    )
