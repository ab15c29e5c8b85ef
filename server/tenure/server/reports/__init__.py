"""What became of decisions: whether a group can be completed, and what to remember of one that cannot.

Judging is a pure function of the report, for the server may have restarted since it decided. Only that a
step is counted once, and that it is not reported in two ways, rests on what this process remembers.
"""

from tenure.server.reports.group_state import evaluate
from tenure.server.reports.report_history import ReportConflict, ReportHistory
from tenure.server.reports.validation import check_report

__all__ = ["ReportConflict", "ReportHistory", "check_report", "evaluate"]
