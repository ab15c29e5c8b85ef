"""How busy a server is, as gauges: calls inside, cycles that run and wait, states that are kept."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation


class Load(NamedTuple):
    """What a server has to do and to keep at a moment."""

    calls: int
    streams: int
    running: int
    """Cycles and questions that have their turn."""
    waiting: int
    states: int
    state_bytes: int


_GAUGES: Final = {
    "calls": ("tenure_calls_inside", "Calls that are inside, waiting for their turn or being answered."),
    "streams": ("tenure_streams_open", "Streams that are open."),
    "running": ("tenure_turns_running", "Cycles, simulations and explanations that run."),
    "waiting": ("tenure_turns_waiting", "Cycles, simulations and explanations that wait for their turn."),
    "states": ("tenure_states", "States that are kept."),
    "state_bytes": ("tenure_state_bytes", "Size of all kept states together, as messages."),
}


def show(load: Callable[[], Load]) -> None:
    """Let metrics show the load of the one server of this process, for as long as the process runs."""
    meter = metrics.get_meter("tenure.server")
    for field, (name, description) in _GAUGES.items():
        meter.create_observable_gauge(name, [_observe(load, field)], description=description)


def _observe(load: Callable[[], Load], field: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: [Observation(getattr(load(), field))]
