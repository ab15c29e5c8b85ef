"""Counts the work of a server for growing requests. `work_counter.install` must be called before the import.

Prints one line of JSON for each case of `growing_requests`: field, case, and for each call the units of work
with each number of elements, and its status with the most. Everything is counted but the transport: the scan
of the bytes, parsing, checks, decoding, the session, the cycle, encoding, and the mapping of errors.
"""

import json
import logging
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import grpc
from google.protobuf.message import Message
from tenure.codec.engine import Engine
from tenure.server.memory import MemoryPlan
from tenure.server.records import NO_RECORDS
from tenure.server.service import SERVICE, DecisionService
from tenure.server.settings import ServerLimits
from tenure.server.telemetry.cycle_metrics import Cycles
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, SERVICE_FEATURES, default_profile

from tests.attacks.work import work_counter
from tests.attacks.work.growing_requests import Case, base_snapshot, cases, full_push

SIZES: Final = (60, 120, 240)
PLUGINS: Final = tuple(PluginConfig(name) for name in BUILT_IN.plugins if name not in SERVICE_FEATURES)


class _Ended(Exception):
    """The call ended with this status."""


class _Context:
    """What a method needs of a call."""

    def time_remaining(self) -> float:
        return math.inf

    def is_active(self) -> bool:
        return True

    def add_callback(self, callback: object) -> bool:
        return True

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def code(self) -> None:
        return None

    def cancel(self) -> None:
        return None

    def abort_with_status(self, status: Any) -> None:
        raise _Ended(status.code.name)


def _call(service: DecisionService, method: str, requests: list[bytes]) -> str:
    details = SimpleNamespace(method=f"/{SERVICE}/{method}", invocation_metadata=())
    handler: Any = service.handler().service(details)
    call: Any = handler.unary_unary or handler.stream_unary or handler.unary_stream or handler.stream_stream
    argument = iter(requests) if handler.request_streaming else requests[0]
    try:
        response = call(argument, _Context())
        if isinstance(response, Iterator):
            list(response)
    except _Ended as ended:
        return str(ended)
    return grpc.StatusCode.OK.name


def _measure(case: Case, count: int) -> tuple[list[int], list[str]]:
    """Units of work and status of each call, with this number of elements."""
    profile = Profile(default_profile().actions, PLUGINS)
    limits = ServerLimits()
    service = DecisionService(Engine(profile), limits, NO_RECORDS, Cycles(), MemoryPlan.of(limits))
    _call(service, "PutSnapshot", _to_bytes([full_push(base_snapshot())]))
    units, statuses = [], []
    for method, requests in case.calls(count)[1:]:
        content = _to_bytes(requests)
        before = work_counter.work()
        statuses.append(_call(service, method, content))
        units.append(work_counter.work() - before)
    return units, statuses


def _to_bytes(requests: list[Message]) -> list[bytes]:
    return [request.SerializeToString() for request in requests]


def main(*fields: str) -> None:
    """Measure all cases, or those of some fields."""
    logging.disable()
    for case in cases():
        if not fields or case.field in fields:
            _measure(case, 1)  # computes what a process computes once
            few, some, many = (_measure(case, count) for count in SIZES)
            calls = list(zip(few[0], some[0], many[0], many[1], strict=True))
            print(json.dumps([case.field, case.name, calls]), flush=True)
