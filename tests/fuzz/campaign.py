"""A run of mutated requests against a server process, and the checks of each call.

Every call ends in time, either with OK or with a status the caller can act on: INVALID_ARGUMENT that names
fields, FAILED_PRECONDITION, or RESOURCE_EXHAUSTED. The server stays alive, and its memory stays bounded.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import grpc
from google.rpc.error_details_pb2 import BadRequest
from grpc_status import rpc_status
from tenure.v1.state_pb2 import STATE_ERROR_CODE_INVALID, SyncStateResponse

from tests.attacks.hostile_requests import MIB, resident_bytes
from tests.fuzz.corpus import SeedRequest, push_request, seeds
from tests.fuzz.mutations import mutate_bytes, mutate_fields
from tests.server.servers import run_server_process

DEADLINE_SECONDS: Final = 20
MAX_GROWTH: Final = 256 * MIB
_SERVICE: Final = "/tenure.v1.DecisionService/"
REFRESH_EVERY: Final = 500


class Case(NamedTuple):
    """The messages of one call, as bytes."""

    method: str
    messages: tuple[bytes, ...]


class FuzzFailure(NamedTuple):
    """A case that did not end as required."""

    number: int
    case: Case
    what: str


class Summary(NamedTuple):
    """Results of a run."""

    cases: int
    endings: Counter[str]
    growth: int
    """Growth of the server's memory in bytes."""
    seconds: float
    findings: list[FuzzFailure]


def case_of(seed: int, number: int) -> Case:
    """Return the case with this number of a run. The result is always the same."""
    random = Random(f"{seed}/{number}")
    chosen: SeedRequest = random.choice(seeds())
    messages = []
    for original in chosen.messages:
        message = type(original).FromString(original.SerializeToString())
        how = random.random()
        if how < 0.7:
            mutate_fields(message, random)
        content = message.SerializeToString()
        messages.append(mutate_bytes(content, random) if how > 0.5 else content)
    return Case(chosen.method, tuple(messages))


def run(seed: int, count: int, first: int = 0, on_case: Callable[[], None] = lambda: None) -> Summary:
    """Run this many cases, starting at the first.

    Some cases use the pushed state. The corpus state is pushed before the first case and after every
    `REFRESH_EVERY` cases, so a failure can be reproduced from there.
    """
    endings, findings, began = Counter[str](), list[FuzzFailure](), time.monotonic()
    with run_server_process("--log-level", "error") as (process, address), open_channel(address) as channel:
        _fresh_state(channel)
        before = resident_bytes(process.pid)
        for number in range(first, first + count):
            case = case_of(seed, number)
            ending, problem = try_case(channel, case)
            endings[f"{case.method} {ending}"] += 1
            if problem:
                findings.append(FuzzFailure(number, case, problem))
            if process.poll() is not None:
                findings.append(FuzzFailure(number, case, f"the server ended with {process.returncode}"))
                break
            if number % REFRESH_EVERY == 0:
                _fresh_state(channel)
            on_case()
        growth = 0 if process.poll() is not None else resident_bytes(process.pid) - before
    if growth > MAX_GROWTH:
        findings.append(
            FuzzFailure(first + count, Case("", ()), f"the server grew by {growth / MIB:.0f} MiB")
        )
    return Summary(count, endings, growth, time.monotonic() - began, findings)


def find_first_case(finding: FuzzFailure) -> int:
    """The first case of a run that reproduces a failure."""
    return max(finding.number - 1, 0) // REFRESH_EVERY * REFRESH_EVERY + 1 if finding.number else 0


def write_finding(finding: FuzzFailure, folder: Path) -> list[Path]:
    """Write the messages of a failed case to files, so that they can be sent again."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for i, message in enumerate(finding.case.messages):
        file = folder / f"{finding.number}-{finding.case.method}-{i}.bin"
        file.write_bytes(message)
        files.append(file)
    return files


def try_case(channel: grpc.Channel, case: Case) -> tuple[str, str]:
    """Send a case; return how the call ended and the error, or an empty text if there is none."""
    try:
        answers = _call(channel, case)
    except grpc.RpcError as failure:
        return failure.code().name, _find_problem(failure)
    return "OK", _invalid_state_error(answers) if case.method == "SyncState" else ""


def _call(channel: grpc.Channel, case: Case) -> list[bytes]:
    """Send a call and read all responses. Calls of all kinds are the same on the wire."""
    call = channel.stream_stream(f"{_SERVICE}{case.method}")(iter(case.messages), timeout=DEADLINE_SECONDS)
    return list(call)


def _invalid_state_error(answers: list[bytes]) -> str:
    """The error in the first state error of a delta stream that does not explain itself to the caller."""
    for fault in (SyncStateResponse.FromString(answer).error for answer in answers):
        is_unreadable = fault.message.startswith("the message is not a ")
        if fault.code == STATE_ERROR_CODE_INVALID and not (fault.violations or is_unreadable):
            return f"a fault names no field: {fault.message}"
        if not fault.message.isprintable():
            return f"not printable: {fault.message!r}"
    return ""


def _find_problem(failure: grpc.RpcError) -> str:
    code, details = failure.code(), failure.details() or ""
    match code:
        case grpc.StatusCode.INVALID_ARGUMENT:
            named = _named_fields(failure)
            is_clean = all(named) if named else details.startswith("the message is not a ")
            return "" if is_clean else f"INVALID_ARGUMENT names no field: {details}"
        case grpc.StatusCode.FAILED_PRECONDITION | grpc.StatusCode.RESOURCE_EXHAUSTED:
            return "" if details.isprintable() else f"not printable: {details!r}"
    return f"{code.name}: {details}"


def _named_fields(failure: grpc.RpcError) -> list[str]:
    status, details = rpc_status.from_call(failure), BadRequest()
    for packed in status.details if status else ():
        if packed.Unpack(details):
            return [v.field if v.description.isprintable() else "" for v in details.field_violations]
    return []


def _fresh_state(channel: grpc.Channel) -> None:
    """Push the corpus state that deltas are based on."""
    pushed = push_request()
    _call(channel, Case(pushed.method, tuple(message.SerializeToString() for message in pushed.messages)))


@contextmanager
def open_channel(address: str) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)]) as channel:
        yield channel
