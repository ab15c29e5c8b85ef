"""The client: one connection to a server, deadlines, retries and errors that say what to do."""

import json
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client.errors import Unavailable
from tenure.client.status import error_of
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.snapshot_pb2 import ClusterSnapshot

DEFAULT_TIMEOUT_SECONDS: Final = 60.0

_RETRIES: Final = {
    "methodConfig": [
        {
            "name": [{"service": "tenure.v1.DecisionService"}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 3,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
"""Deciding changes nothing, so a call may be repeated whenever the server could not take it.

Within the deadline, and over some three seconds: long enough for a server to be replaced.
"""


class Client:
    """A connection to the Tenure server at an address such as `127.0.0.1:50051`, in clear text.

    Use it in a `with` statement, or call `close`. Threads may share one client. `timeout` is in seconds and
    bounds a call as a whole: waiting for the server to be there, retries and the decision.

        with Client("127.0.0.1:50051") as client:
            response = client.decide(snapshot)
    """

    def __init__(self, address: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._address = address
        self._timeout = timeout
        self._channel = grpc.insecure_channel(
            address,
            options=[
                ("grpc.service_config", json.dumps(_RETRIES)),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_receive_message_length", -1),
            ],
        )
        self._service = DecisionServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._health = HealthStub(self._channel)

    def decide(
        self, snapshot: ClusterSnapshot, actions: Iterable[str] = (), timeout: float | None = None
    ) -> DecideResponse:
        """The decision on a snapshot, with the server's actions unless others are named.

        Raises an error of `tenure.client.errors`; nothing was decided then.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        self._wait_until_reached(deadline)
        request = DecideRequest(snapshot=snapshot, actions=actions)
        try:
            answer: DecideResponse = self._service.Decide(request, timeout=_remaining(deadline))
        except grpc.RpcError as failure:
            raise error_of(failure, self._address) from None
        return answer

    def close(self) -> None:
        """Hang up. The client cannot be used afterwards."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait_until_reached(self, deadline: float) -> None:
        """Ask for the server's health, to tell a server that is not there from one that is slow."""
        try:
            self._health.Check(HealthCheckRequest(), timeout=_remaining(deadline), wait_for_ready=True)
        except grpc.RpcError as failure:
            if failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                hint = "is the address right, and does `tenure serve` run there?"
                raise Unavailable(f"no server answers at {self._address}: {hint}") from None


def _remaining(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
