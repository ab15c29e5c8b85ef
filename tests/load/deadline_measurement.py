"""The check `deadlines`: of 100 calls with a deadline of 100 ms, counts those with a response in time.

Without a deadline the search takes seconds. The server runs in a process of its own; this is its client.
"""

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import grpc
import typer
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub

from tests.checks import Counts
from tests.server.servers import run_server_process
from tests.server.slow_search import SLOW_OPTIONS, slow_search_snapshot

CALLS: Final = 100
DEADLINE: Final = 0.1
TOLERANCE: Final = 1.1
NODES: Final = 60


def _call(service: DecisionServiceStub, request: DecideRequest, timeout: float) -> tuple[float, str]:
    """Return the duration in seconds and the response or error."""
    begin = time.perf_counter()
    try:
        answer = service.Decide(request, timeout=timeout)
        found = "stopped early" if answer.stopped_early else "complete"
    except grpc.RpcError as error:
        found = error.code().name
    return time.perf_counter() - begin, found


def main(
    settings: Annotated[
        str, typer.Argument(help="YAML for the server's configuration: 'server: {solverHost: process}'")
    ] = "",
) -> Counts:
    """Send 100 calls with a deadline of 100 ms; each must get a response in time that was stopped early."""
    request = DecideRequest(snapshot=slow_search_snapshot(NODES))
    with TemporaryDirectory() as folder:
        config = Path(folder, "slow.yaml")
        config.write_text(SLOW_OPTIONS + settings)
        with (
            run_server_process("--config", str(config)) as (_, address),
            grpc.insecure_channel(address) as channel,
        ):
            service = DecisionServiceStub(channel)
            seconds, found = _call(service, request, 120)
            print(f"without a deadline: {seconds:.2f} s, {found}; message {request.ByteSize()} bytes")
            calls = [_call(service, request, DEADLINE) for _ in range(CALLS)]
    took = sorted(seconds for seconds, _ in calls)
    in_time = sum(seconds <= DEADLINE * TOLERANCE and found == "stopped early" for seconds, found in calls)
    print(f"with {DEADLINE} s: {in_time} of {CALLS} answered in time; how they ended:")
    for kind in sorted({found for _, found in calls}):
        print(f"  {kind}: {sum(found == kind for _, found in calls)}")
    milliseconds = [f"{seconds * 1e3:.1f}" for seconds in (median(took), took[-2], took[-1])]
    print("median {} ms, second longest {}, longest {}".format(*milliseconds))
    return Counts(in_time, CALLS - in_time)
