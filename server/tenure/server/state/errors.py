"""Errors of pushed states."""

from collections.abc import Sequence
from typing import Final

from tenure.terms.durations import format_duration
from tenure.v1 import state_pb2 as pb
from tenure.wire.limits import LimitExceeded
from tenure.wire.violations import FieldViolation

_RESYNC: Final = (pb.STATE_ERROR_CODE_UNKNOWN_STATE, pb.STATE_ERROR_CODE_VERSION_GAP)
"""Errors that require a new full snapshot: the server's state is not the one that the caller expects."""
_MAX_FIELDS: Final = 1_000
"""Maximum number of violations in one error; the message has the total."""


class StateError(Exception):
    """A state does not exist or cannot be changed. The message has the fix."""

    def __init__(
        self, code: pb.StateErrorCode, message: str, violations: Sequence[FieldViolation] = ()
    ) -> None:
        self.code = code
        self.violations = tuple(violations)
        super().__init__(message)

    @property
    def resync_required(self) -> bool:
        """Whether a new full snapshot is required."""
        return self.code in _RESYNC

    def message(self) -> pb.StateError:
        """The error as a message."""
        named = self.violations[:_MAX_FIELDS]
        fields = [pb.FieldViolation(field=field, description=description) for field, description in named]
        return pb.StateError(
            code=self.code, message=str(self), violations=fields, resync_required=self.resync_required
        )


def unknown_state(cluster_id: str, node_pool: str, epoch: str) -> StateError:
    """There is no state of this cluster ID, node pool and epoch."""
    what = f"unknown state: cluster {cluster_id!r}, node pool {node_pool!r}, epoch {epoch!r}"
    return StateError(pb.STATE_ERROR_CODE_UNKNOWN_STATE, f"{what}; push a full snapshot (PutSnapshot)")


def no_state(cluster_id: str, node_pool: str) -> StateError:
    """There is no state of this cluster ID and node pool, of any epoch."""
    what = f"unknown state: cluster {cluster_id!r}, node pool {node_pool!r}"
    message = f"{what}; check the names and whether a scheduler pushes it (PutSnapshot)"
    return StateError(pb.STATE_ERROR_CODE_UNKNOWN_STATE, message)


def version_gap(current: int, named: int) -> StateError:
    """The version of the state is not the given one."""
    what = f"the state has version {current}, not {named}"
    return StateError(pb.STATE_ERROR_CODE_VERSION_GAP, f"{what}; push a full snapshot (PutSnapshot)")


def invalid_delta(violations: Sequence[FieldViolation]) -> StateError:
    """Rows are invalid."""
    message = f"{len(violations)} field(s) are invalid; fix them and resend the delta"
    return StateError(pb.STATE_ERROR_CODE_INVALID, message, violations)


def clock_regression(current: str, named: str) -> StateError:
    """The time is before that of the state; both times as text."""
    message = f"the time {named} is before that of the state, {current}; send a later one"
    return StateError(pb.STATE_ERROR_CODE_CLOCK_REGRESSION, message)


def stale_state(age: int, most: int) -> StateError:
    """The state is older than accepted; both ages in nanoseconds."""
    message = f"the state is {format_duration(age)} old, more than {format_duration(most)}"
    return StateError(pb.STATE_ERROR_CODE_STALE, f"{message}: send a delta, or synchronize the clocks")


def no_message(kind: str) -> StateError:
    """The bytes are not a message of the expected type."""
    message = f"the message is not a {kind}; fix it and resend the delta"
    return StateError(pb.STATE_ERROR_CODE_INVALID, message)


def too_many_rows(exceeded: LimitExceeded, whose: str = "state") -> StateError:
    """The state or the delta has too many rows of a list."""
    violation = FieldViolation(exceeded.field, f"has more than {exceeded.maximum:,}")
    return StateError(pb.STATE_ERROR_CODE_TOO_LARGE, f"in the {whose} {exceeded}", [violation])


def too_large(size: int, most: int) -> StateError:
    """The state takes, or would take, more memory than all states together may take; both in bytes."""
    error = f"the state would take {size:,} bytes of memory, more than {most:,}"
    return StateError(
        pb.STATE_ERROR_CODE_TOO_LARGE,
        f"{error}: send less, or raise server.maxStateMib in the configuration",
    )
