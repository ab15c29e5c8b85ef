"""Limits that a server reports."""

import logging
from typing import Final

from tenure.client.client import Client
from tenure.client.errors import TenureError
from tenure.wire.row_limits import SenderLimits

_SECONDS: Final = 5.0
_LOG: Final = logging.getLogger(__name__)


def server_limits(client: Client) -> SenderLimits | None:
    """Limits of a server; None: it does not respond, or does not report them."""
    try:
        return SenderLimits.of(client.get_capabilities(_SECONDS).limits)
    except TenureError as failure:
        _LOG.info("Limits of the server are unknown: %s", failure)
        return None
