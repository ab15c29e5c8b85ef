"""Asking a what-if question: of a server, or in this process."""

from pathlib import Path
from typing import TYPE_CHECKING

from tenure.server.cli.connecting import Connection, refuse_config
from tenure.server.cli.decide import SnapshotFormat

if TYPE_CHECKING:
    from tenure.solver.framework.profile import Profile
    from tenure.v1.decision_service_pb2 import SimulateResponse
    from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
    from tenure.v1.simulate_pb2 import SimulateRequest
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


def read(file: str, form: SnapshotFormat | None) -> "ClusterSnapshot":
    """The snapshot of a file."""
    from tenure.client.formats import Format
    from tenure.client.snapshot_file import read_snapshot

    return read_snapshot(file, Format(form) if form else None)


def simulated(request: "SimulateRequest", connection: Connection, config: Path | None) -> "SimulateResponse":
    """The cycles of a simulation."""
    if connection.server:
        refuse_config(config)
        with connection.client(connection.server) as client:
            return client.simulate(request)
    from tenure.server.simulate import Simulator

    return Simulator(_profile(config)).simulate(request)


def explained(request: "ExplainRequest", connection: Connection, config: Path | None) -> "ExplainResponse":
    """The answer to a question."""
    if connection.server:
        refuse_config(config)
        with connection.client(connection.server) as client:
            return client.explain(request)
    from tenure.server.explain import Explainer

    return Explainer(_profile(config)).explain(request)


def _profile(config: Path | None) -> "Profile":
    from tenure.server.settings import load_settings

    return load_settings(config).profile
