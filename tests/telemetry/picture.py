"""The check `telemetry-diagram`: docs/trace.svg, the life of a decision as it arrived from a real run.

A real API server, a server and an adapter as processes, and a small cluster on which somebody urgent makes a
gang yield. What a receiver gets of it is drawn: the round that evicts, and the one that binds in the room.
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
from tenure.client.kubernetes.transport import Transport

from tests.checks import Counts
from tests.kube import binaries
from tests.kube.controlplane import ControlPlane, control_plane
from tests.kube.definitions import define_kinds
from tests.kube.kubelet import Kubelet
from tests.telemetry.drawing import Drawn, drawn
from tests.telemetry.life import live, live_cluster, telling_adapter
from tests.telemetry.receiver import Received, receiving, text_of
from tests.telemetry.served import sent_at_once

FILE: Final = Path(__file__).parents[2] / "docs" / "trace.svg"
_ROUND: Final = "tenure.adapter.round"


def main(file: Annotated[Path, typer.Argument(help="Where to draw it")] = FILE) -> Counts:
    """Draw the two traces of a decision from a real run; counts the traces that arrived complete."""
    programs = binaries.available()
    with (
        sent_at_once(),
        receiving() as (received, address),
        tempfile.TemporaryDirectory() as folder,
        control_plane(programs, Path(folder)) as plane,
    ):
        evicting, binding = _lived(plane, Path(folder), received, address)
    traces = [
        Drawn("1. A gang is evicted: what somebody more important needs is not free", evicting),
        Drawn("2. The gang is gone: who was waiting is bound", binding, frozenset(("tenure.cycle",))),
    ]
    file.write_text(drawn("The life of a decision, from what is observed to calls to the API server", traces))
    print(f"{file}: {len(evicting)} and {len(binding)} spans")
    return Counts(len(traces), 0)


def _lived(
    plane: ControlPlane, folder: Path, received: Received, address: str
) -> tuple[list[Span], list[Span]]:
    """The spans of the round that evicts, and of the one that binds in its room."""
    with (
        _running(plane) as transport,
        live_cluster(transport) as cluster,
        telling_adapter(plane, cluster, folder, address),
    ):
        live(cluster)
        binding = received.until(_of_the_binding)
        link = next(link for span in binding for link in span.links if _role(link) == "room")
        return received.until(lambda got: _whole(got, link.trace_id)) or [], binding


@contextmanager
def _running(plane: ControlPlane) -> Iterator[Transport]:
    """To an API server that knows all kinds, with kubelets that end pods after a second."""
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


def _of_the_binding(received: Received) -> list[Span] | None:
    """The trace with a binding that points to an eviction that made room for it."""
    for span in received.named("tenure.adapter.step bind"):
        if any(_role(link) == "room" for link in span.links):
            return _whole(received, span.trace_id)
    return None


def _whole(received: Received, trace: bytes) -> list[Span] | None:
    """The spans of a trace, when its root has come, and what the server said of it."""
    spans = [span for span in received.spans if span.trace_id == trace]
    names = {span.name for span in spans}
    return spans if {_ROUND, "tenure.cycle", "tenure.v1.DecisionService/ReportOutcome"} <= names else None


def _role(link: Span.Link) -> str:
    return text_of(link.attributes)["tenure.link"]
