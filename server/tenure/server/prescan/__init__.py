"""Requests looked through as bytes, before a parser builds objects of them: too many rows, too long texts."""

from tenure.server.prescan.exceeded import LimitExceeded
from tenure.server.prescan.scan import check_request
from tenure.server.prescan.state import check_rows

__all__ = ["LimitExceeded", "check_request", "check_rows"]
