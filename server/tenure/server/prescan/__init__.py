"""Requests looked through as bytes, before a parser builds objects of them: too many rows, too long texts."""

from tenure.server.prescan.exceeded import LimitExceeded
from tenure.server.prescan.scan import check_request
from tenure.server.prescan.state import check_rows
from tenure.server.prescan.wire import text_of

__all__ = ["LimitExceeded", "check_request", "check_rows", "text_of"]
