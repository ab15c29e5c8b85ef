"""Gauges of the load of the server and of its files, which are read when metrics are collected."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation


class Load(NamedTuple):
    """Load of a server."""

    calls: int
    streams: int
    running_cycles: int
    """Running and queued cycles and queries."""
    queued_cycles: int
    states: int
    state_bytes: int


_GAUGES: Final = {
    "calls": ("tenure_calls_in_flight", "Calls in flight, queued or being processed."),
    "streams": ("tenure_streams_open", "Open streams."),
    "running_cycles": ("tenure_cycles_running", "Running cycles, simulations and explanations."),
    "queued_cycles": (
        "tenure_cycles_queued",
        "Queued cycles, simulations and explanations.",
    ),
    "states": ("tenure_states", "Pushed states in memory."),
    "state_bytes": ("tenure_state_bytes", "Memory of the pushed states, by a measured model."),
}


def register_gauges(load: Callable[[], Load]) -> None:
    """Export the load of the server of this process. Call it once."""
    meter = metrics.get_meter("tenure.server")
    for field, (name, description) in _GAUGES.items():
        meter.create_observable_gauge(name, [_observe(load, field)], description=description)


def register_fault_gauge(faults: Callable[[], Mapping[str, str]]) -> None:
    """Export whether the files of this process can be used. Call it once.

    `faults` returns why they cannot, by what they contain; empty if they can.
    """

    def observe(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(int(bool(fault)), {"content": what}) for what, fault in faults().items()]

    metrics.get_meter("tenure.server").create_observable_gauge(
        "tenure_file_fault",
        [observe],
        description="1 while a file of credentials, rules or audit lines cannot be used, else 0.",
    )


def _observe(load: Callable[[], Load], field: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: [Observation(getattr(load(), field))]
