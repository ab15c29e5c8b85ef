"""A decision as text for people: one sentence, then who starts, waits, yields and is protected."""

from rich.console import Console
from rich.text import Text
from tenure.server.report.headline import headline
from tenure.server.report.queues import queues
from tenure.server.report.sections import protected, starts, starts_soon, waits, yields
from tenure.server.report.view import View
from tenure.server.report.words import clock
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

__all__ = ["print_report"]


def print_report(console: Console, snapshot: ClusterSnapshot, response: DecideResponse) -> None:
    """Prints an answer next to the snapshot it is about. Same input and width, same text."""
    view = View(snapshot, response)
    console.print(Text(headline(view), style="bold"), "\n", sep="")
    for section in (starts, starts_soon, waits, yields, protected, queues):
        section(view).print(console)
    for warning in response.warnings:
        console.print(Text(f"Doubtful: {warning}"))
    if response.HasField("next_wake_time"):
        wake = clock(response.next_wake_time.ToNanoseconds(), view.now)
        console.print(f"Ask again at {wake}: time alone may change the answer then.")
