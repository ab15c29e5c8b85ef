"""What a server accepts of one row, for senders that check rows before they send them.

A sender that checks each row with the limits of its server never has a snapshot refused because of one
object: it leaves out that row, and names the object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import Message
from tenure.v1.capabilities_pb2 import Limits
from tenure.wire.field_plan import ELEMENTS
from tenure.wire.limits import LimitExceeded
from tenure.wire.scanner import check_request
from tenure.wire.schema import default_max_rows
from tenure.wire.violations import SnapshotValidationError

_AROUND_ROW: Final = 2**12
"""Bytes of a message around its only row, at most."""
_STATE_PART: Final = 8
"""A server accepts an n-th of the memory of its states for one state: others and deltas need the rest."""


DEFAULT_MAX_ROWS: Final[Mapping[str, int]] = {**default_max_rows(), ELEMENTS: 1_000_000}
"""What a server accepts by default, by list of a snapshot; and the limit of all other entries."""


@dataclass(frozen=True, slots=True)
class ListLimits:
    """Implements RowLimits. The defaults are those of a server, for servers that do not report them."""

    by_list: Mapping[str, int] = field(default_factory=lambda: DEFAULT_MAX_ROWS)

    def of(self, name: str) -> int:
        """Limit of a list of a snapshot, or of ELEMENTS."""
        return self.by_list[name]


@dataclass(frozen=True, slots=True)
class SenderLimits:
    """Limits of a server, as a sender applies them. Implements RequestLimits; lengths are in characters."""

    max_rows: ListLimits = ListLimits()
    max_name_length: int = 253
    max_text_length: int = 4_096
    max_row_bytes: int = 2**20 - _AROUND_ROW
    """Maximum size of one row in bytes: a chunk of a push has at least one row."""
    max_total_bytes: int = 2**30 // _STATE_PART
    """Maximum size of all pod groups, pods and shapes together, in bytes."""

    @classmethod
    def of(cls, limits: Limits) -> "SenderLimits":
        """Limits that a server reports; those that it does not report have their defaults."""
        most = {name: limits.max_rows.get(name) or usual for name, usual in DEFAULT_MAX_ROWS.items()}
        usual = cls()
        sizes = [size for size in (limits.max_chunk_bytes, limits.max_message_bytes) if size]
        return cls(
            max_rows=ListLimits(most),
            max_name_length=limits.max_name_length or usual.max_name_length,
            max_text_length=limits.max_text_length or usual.max_text_length,
            max_row_bytes=min(sizes) - _AROUND_ROW if sizes else usual.max_row_bytes,
            max_total_bytes=limits.max_state_bytes // _STATE_PART or usual.max_total_bytes,
        )

    def problem(self, row: Message) -> str:
        """Why the server would refuse a row, with the field and the limit; "": it would not."""
        size = row.ByteSize()
        if size <= min(self.max_name_length, self.max_text_length, self.max_rows.of(ELEMENTS)):
            return ""  # as most rows: no text in it is too long
        if size > self.max_row_bytes:
            return f"it has {size:,} bytes, more than {self.max_row_bytes:,}, the limit of one row"
        try:
            check_request(row.SerializeToString(), type(row), self)
        except SnapshotValidationError as invalid:
            return str(invalid.violations[0])
        except LimitExceeded:
            return f"it has more than {self.max_rows.of(ELEMENTS):,} entries, the limit elements"
        return ""
