"""When time alone may change the answer."""

from rich.console import Console
from tenure.server.report.words import clock
from tenure.server.view import View


def print_wake(console: Console, view: View) -> None:
    """Says when to ask again; nothing when time does not matter."""
    if view.response.HasField("next_wake_time"):
        wake = clock(view.response.next_wake_time.ToNanoseconds(), view.now)
        console.print(f"Ask again at {wake}: time alone may change the answer then.")
