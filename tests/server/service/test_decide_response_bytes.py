"""The server never parses the responses that it sends: neither for a cold nor for a warm Decide."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from google.protobuf.message import Message
from tenure.client import Client, StateSession
from tenure.server.records import FileRecorder
from tenure.server.settings import RecordSettings
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

_PARSERS = ("FromString", "MergeFromString", "ParseFromString")
CLIENT_PARSES = 1
"""Responses that the client parses per call."""


@contextmanager
def parsed_messages() -> Iterator[list[str]]:
    """Yield the names of the messages that this thread and those started in the block parse."""
    found: list[str] = []

    def note(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and getattr(function, "__name__", "") in _PARSERS:
            owner = function.__self__
            found.append((owner if isinstance(owner, type) else type(owner)).__name__)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def test_profile_sees_parsed_messages() -> None:
    with parsed_messages() as parsed:
        message: Message = DecideResponse.FromString(b"")
        message.MergeFromString(b"")
    assert parsed == ["DecideResponse", "DecideResponse"]


def test_decide_parses_no_response(tmp_path: Path) -> None:
    recorder = FileRecorder(RecordSettings(path=tmp_path / "records"))
    with parsed_messages() as parsed:
        with run_server(recorder=recorder) as (_, address), Client(address) as client:
            responses = [client.decide(small_snapshot())]
            session = StateSession(client)
            session.push(small_snapshot())
            responses += [session.decide(), session.decide()]
        recorder.close(10)
    assert all(response.outcomes for response in responses)
    assert "DecideRequest" in parsed
    assert parsed.count("DecideResponse") == CLIENT_PARSES * len(responses)


def test_simulate_parses_no_response() -> None:
    with parsed_messages() as parsed, run_server() as (_, address), Client(address) as client:
        response = client.simulate(SimulateRequest(snapshot=small_snapshot(), cycles=2))
    assert len(response.cycles) == 2
    assert parsed.count("DecideResponse") == 0
    assert parsed.count("SimulateResponse") == CLIENT_PARSES
