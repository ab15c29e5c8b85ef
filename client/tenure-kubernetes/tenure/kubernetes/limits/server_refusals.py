"""Limits that a server reports, and rows that it sets aside although they fit.

The adapter stops sending such rows until they change.
"""

import logging
import re
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.client.client import Client
from tenure.client.errors import TenureError
from tenure.kubernetes.rows.row_table import readable
from tenure.v1.state_pb2 import SetAsideRow
from tenure.wire.row_limits import SenderLimits

_LIST: Final = re.compile(r"(?:upserts\.)?([a-z_]+)\[")
_COLUMNS: Final = "pod_columns"
PODS: Final = "pods"
POD_GROUPS: Final = "pod_groups"
"""Lists whose rows the adapter stops sending."""


_SECONDS: Final = 5.0
_LOG: Final = logging.getLogger(__name__)


def server_limits(client: Client) -> SenderLimits | None:
    """Limits of a server; None: it does not respond, or does not report them."""
    try:
        return SenderLimits.of(client.get_capabilities(_SECONDS).limits)
    except TenureError as failure:
        _LOG.info("Limits of the server are unknown: %s", failure)
        return None


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
