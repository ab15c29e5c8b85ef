"""Rows that the server set aside, although they fit: the adapter stops sending them until they change."""

import re
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.kubernetes.observe.row_table import readable
from tenure.v1.state_pb2 import SetAsideRow

_LIST: Final = re.compile(r"(?:upserts\.)?([a-z_]+)\[")
_COLUMNS: Final = "pod_columns"
PODS: Final = "pods"
POD_GROUPS: Final = "pod_groups"
"""Lists whose rows the adapter stops sending."""


class _Refusal(NamedTuple):
    row: Message
    reason: str


class ServerRefusals:
    """Refused rows by list and key."""

    def __init__(self) -> None:
        self._refused: dict[tuple[str, str], _Refusal] = {}

    def put(self, name: str, key: str, row: Message, reason: str) -> None:
        """Note that the server refused a row."""
        self._refused[name, key] = _Refusal(row, readable(reason))

    def reason(self, name: str, key: str, row: Message) -> str:
        """Why the server refused this very row; "": it did not."""
        refusal = self._refused.get((name, key)) if self._refused else None
        if refusal is None:
            return ""
        if refusal.row != row:
            del self._refused[name, key]
            return ""
        return refusal.reason

    def forget(self, name: str, key: str) -> None:
        """Drop what is known of a row whose object is gone."""
        self._refused.pop((name, key), None)


def list_of(row: SetAsideRow) -> str:
    """The list of a row in a snapshot."""
    found = _LIST.match(row.field)
    name = found[1] if found else ""
    return PODS if name == _COLUMNS else name


def reason_of(row: SetAsideRow) -> str:
    """Why a row is set aside."""
    first = row.violations[0] if row.violations else None
    return f"the server refuses it: {first.field}: {first.description}" if first else "the server refuses it"
