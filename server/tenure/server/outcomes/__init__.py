"""What became of decisions: whether a group can be completed, and what to remember of one that cannot.

Judging is a pure function of the report, for the server may have restarted since it decided. Only that a
step is counted once, and that it is not reported in two ways, rests on what this process remembers.
"""

from tenure.server.outcomes.check import check_report
from tenure.server.outcomes.judge import judged
from tenure.server.outcomes.reported import Conflict, Reported

__all__ = ["Conflict", "Reported", "check_report", "judged"]
