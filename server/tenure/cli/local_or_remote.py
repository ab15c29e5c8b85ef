"""Simulate and explain on a server, or in this process."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenure.cli.options import Connection, SnapshotFormat, refuse_config

if TYPE_CHECKING:
    from tenure.solver.plugin_api.profile import Profile
    from tenure.v1.decide_pb2 import DecideResponse
    from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse, StartEstimate, VictimRank
    from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_EXPLAINED: Final = 3
"""Pending pod groups for which remedies are tested: each takes as long as several decisions."""
MAX_PODS: Final = 2_000
"""On larger clusters, nothing is tested."""


def read_for_local(file: str, form: SnapshotFormat | None) -> "ClusterSnapshot":
    """Snapshot in a file."""
    from tenure.client.snapshot_file import Format, read_snapshot

    return read_snapshot(file, Format(form) if form else None)


def request_simulation(
    request: "SimulateRequest", connection: Connection, config: Path | None
) -> "SimulateResponse":
    """Response of a simulation."""
    if connection.server:
        refuse_config(config)
        with connection.client(connection.server) as client:
            return client.simulate(request)
    from tenure.codec.simulation import SimulationEngine
    from tenure.server.explain.when_starts import encode_start_estimates
    from tenure.server.installed import installed_registry
    from tenure.v1.simulate_pb2 import SimulateResponse

    registry = installed_registry()
    engine, estimate = SimulationEngine(_profile(config), registry), partial(encode_start_estimates, registry)
    return SimulateResponse.FromString(engine.simulate(request, estimate=estimate))


def request_explanation(
    request: "ExplainRequest", connection: Connection, config: Path | None
) -> "ExplainResponse":
    """Response of an explanation."""
    if connection.server:
        refuse_config(config)
        with connection.client(connection.server) as client:
            return client.explain(request)
    from tenure.server.explain import Explainer
    from tenure.server.installed import installed_registry

    return Explainer(_profile(config), installed_registry()).explain(request)


def find_tested_remedies(
    snapshot: "ClusterSnapshot", response: "DecideResponse", connection: Connection, config: Path | None
) -> dict[str, str]:
    """A sentence about what helps, by uid of the first pending pod groups.

    A server may permit decisions and no explanations, or lack the time: then nothing more is tested.
    """
    from tenure.client import TenureError
    from tenure.render.sections import pending_outcomes
    from tenure.v1.explain_pb2 import ExplainRequest, WhyPending

    if len(snapshot.pods) + len(snapshot.pod_columns.uid) > MAX_PODS:
        return {}
    found = {}
    for outcome in pending_outcomes(response)[:MAX_EXPLAINED]:
        question = ExplainRequest(snapshot=snapshot, why_pending=WhyPending(pod_group=outcome.pod_group))
        try:
            remedies = request_explanation(question, connection, config).remedies
        except TenureError:
            break
        if remedies:
            found[outcome.pod_group] = f"What helps: {remedies[0].explanation.operator.rstrip('.')}"
        else:
            found[outcome.pod_group] = "None of the tested changes helps now"
    return found


def find_start_estimates(
    snapshot: "ClusterSnapshot", connection: Connection, config: Path | None
) -> "Sequence[StartEstimate]":
    """Places and starts of all pod groups that wait."""
    from tenure.v1.explain_pb2 import ExplainRequest, WhenStarts

    question = ExplainRequest(snapshot=snapshot, when_starts=WhenStarts())
    return request_explanation(question, connection, config).start_estimates


def find_ranks(
    snapshot: "ClusterSnapshot", queue: str | None, connection: Connection, config: Path | None
) -> "Sequence[VictimRank]":
    """Ranks of pod groups as victims; empty if a server does not explain, or does not know them."""
    from tenure.client import TenureError
    from tenure.v1.explain_pb2 import ExplainRequest, VictimRanks

    question = ExplainRequest(snapshot=snapshot, victim_ranks=VictimRanks(queue=queue or ""))
    try:
        return request_explanation(question, connection, config).victim_ranks
    except TenureError:
        return ()


def _profile(config: Path | None) -> "Profile":
    from tenure.server.settings import load_settings

    return load_settings(config).profile
