"""A decision as text for people: one sentence, then who starts, waits, yields, is late and is protected."""

from rich.console import Console
from rich.text import Text
from tenure.server.report.doubtful import doubtful
from tenure.server.report.headline import headline
from tenure.server.report.inflight import in_flight
from tenure.server.report.overdue import overdue
from tenure.server.report.protected import protected
from tenure.server.report.queues import queues
from tenure.server.report.sections import starts, starts_soon, waits, yields
from tenure.server.report.wake import print_wake
from tenure.server.view import View
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

__all__ = ["print_report"]


def print_report(console: Console, snapshot: ClusterSnapshot, response: DecideResponse) -> None:
    """Prints an answer next to the snapshot it is about. Same input and width, same text."""
    view = View(snapshot, response)
    console.print(Text(headline(view), style="bold"), "\n", sep="")
    for section in (starts, starts_soon, waits, yields, in_flight, overdue, protected, queues, doubtful):
        section(view).print(console)
    print_wake(console, view)
