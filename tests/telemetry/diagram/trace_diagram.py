"""The check `telemetry-diagram`: docs/trace.svg, the life of a decision, drawn from a real run.

The run has a real API server, a server and an adapter as processes, and a small cluster on which a gang is
preempted. The diagram shows the received traces of the reconcile that evicts and of the one that binds.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tenure.kubernetes.api.transport import Transport

from tests.checks import Counts
from tests.kubernetes.environment import binaries
from tests.kubernetes.environment.control_plane import ControlPlane, run_control_plane
from tests.kubernetes.environment.kubelet import Kubelet
from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.telemetry.decision_life import run_decision_life, run_live_cluster, run_telemetry_adapter
from tests.telemetry.diagram.trace_drawing import DrawnTrace, draw_traces
from tests.telemetry.otlp_receiver import ReceivedTelemetry, run_receiver, text_attributes
from tests.telemetry.telemetry_server import export_immediately

FILE: Final = Path(__file__).parents[3] / "docs" / "trace.svg"
_ROUND: Final = "tenure.adapter.reconcile"


def main(file: Annotated[Path, typer.Argument(help="Where to draw it")] = FILE) -> Counts:
    """Draw the two traces of a decision from a real run; counts the traces that arrived complete."""
    programs = binaries.available()
    with (
        export_immediately(),
        run_receiver() as (received, address),
        tempfile.TemporaryDirectory() as folder,
        run_control_plane(programs, Path(folder)) as plane,
    ):
        evicting, binding = _record_life(plane, Path(folder), received, address)
    traces = [
        DrawnTrace("1. Reclaim: a gang is evicted, and its resources are reserved", evicting),
        DrawnTrace(
            "2. After the gang has terminated: the waiting pods are bound",
            binding,
            frozenset(("tenure.cycle",)),
        ),
    ]
    file.write_text(
        draw_traces("The life of a decision, from observation to calls of the API server", traces)
    )
    print(f"{file}: {len(evicting)} and {len(binding)} spans")
    return Counts(len(traces), 0)


def _record_life(
    plane: ControlPlane, folder: Path, received: ReceivedTelemetry, address: str
) -> tuple[list[Span], list[Span]]:
    """Return the spans of the reconcile that evicts, and of the one that binds to the freed capacity."""
    with (
        _open_transport(plane) as transport,
        run_live_cluster(transport) as cluster,
        run_telemetry_adapter(plane, cluster, folder, address),
    ):
        run_decision_life(cluster)
        binding = received.wait_until(_binding_trace)
        link = next(link for span in binding for link in span.links if _role(link) == "freed_by")
        return received.wait_until(lambda got: _complete_trace(got, link.trace_id)) or [], binding


@contextmanager
def _open_transport(plane: ControlPlane) -> Iterator[Transport]:
    """Connect to an API server with all resource kinds and kubelets that terminate pods after a second."""
    with closing(Transport(plane.kubeconfig())) as transport:
        define_kinds(transport)
        kubelet = Kubelet(transport, 1.0, time.monotonic)
        thread = threading.Thread(target=kubelet.run)
        thread.start()
        try:
            yield transport
        finally:
            kubelet.stop()
            thread.join()


def _binding_trace(received: ReceivedTelemetry) -> list[Span] | None:
    """Return the trace with a bind that is linked to the eviction that freed its capacity."""
    for span in received.named("tenure.adapter.apply bind"):
        if any(_role(link) == "freed_by" for link in span.links):
            return _complete_trace(received, span.trace_id)
    return None


def _complete_trace(received: ReceivedTelemetry, trace: bytes) -> list[Span] | None:
    """Return the spans of a trace if its reconcile, cycle and report spans have arrived."""
    spans = [span for span in received.spans if span.trace_id == trace]
    names = {span.name for span in spans}
    return spans if {_ROUND, "tenure.cycle", "tenure.v1.DecisionService/ReportResults"} <= names else None


def _role(link: Span.Link) -> str:
    return text_attributes(link.attributes)["tenure.link"]
