"""Evaluation of reported results: group states, and patches to store.

Evaluation is a pure function of the report, since the server may have restarted since it decided. Only
counting each result once and detecting conflicts depend on the memory of this process.
"""

from tenure.server.reports.group_state import evaluate
from tenure.server.reports.report_history import ReportConflict, ReportHistory
from tenure.server.reports.validation import check_report

__all__ = ["ReportConflict", "ReportHistory", "check_report", "evaluate"]
