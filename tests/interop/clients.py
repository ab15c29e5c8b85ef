"""Clients that use only the contract of the server. Each raises an error if the contract is violated."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from google.protobuf.json_format import MessageToDict, MessageToJson
from tenure.client import Client, StateSession
from tenure.client.snapshot_file import read_snapshot

from tests.e2e.command import SAMPLE
from tests.tools.catalog import BUF, GO_CLIENT

_SERVICE: Final = "tenure.v1.DecisionService"
_SECONDS: Final = 120


def go_client(address: str) -> str:
    """Run the client in Go and return its report."""
    return _run_program(GO_CLIENT, "-address", address)


def reflection(address: str) -> str:
    """Call the server through reflection, and compare the responses with those of the Python client."""
    methods = _buf_curl(f"http://{address}", "--list-methods").split()
    known = _call_method(address, "GetCapabilities", "{}")
    answer = _call_method(address, "Decide", f'{{"snapshot": {MessageToJson(read_snapshot(str(SAMPLE)))}}}')
    with Client(address) as client:
        assert known == MessageToDict(client.get_capabilities())
        assert answer == MessageToDict(client.decide(read_snapshot(str(SAMPLE))))
    assert {f"{_SERVICE}/Decide", f"{_SERVICE}/SyncState"} <= set(methods)
    return f"{len(methods)} methods; {len(answer['groups'])} groups decided"


def python_client(address: str) -> str:
    """The Python client: a snapshot in the request and a pushed one lead to the same response."""
    snapshot = read_snapshot(str(SAMPLE))
    with Client(address) as client, StateSession(client) as session:
        inline = client.decide(snapshot)
        session.push(snapshot)
        snapshot.version += 1
        session.update(snapshot)
        pushed = session.decide()
        assert pushed == client.decide(snapshot)
    return f"{len(inline.groups)} groups decided; the same by reference"


NEEDED: Final[Mapping[Callable[[str], str], Path | None]] = {
    go_client: GO_CLIENT,
    reflection: BUF,
    python_client: None,
}
"""Every client, with the file that it needs."""


def _call_method(address: str, method: str, request: str) -> Any:
    return json.loads(_buf_curl(f"http://{address}/{_SERVICE}/{method}", "--data", "@-", request=request))


def _buf_curl(url: str, *arguments: str, request: str = "") -> str:
    options = ("--protocol", "grpc", "--http2-prior-knowledge", "--reflect")
    return _run_program(BUF, "curl", *options, *arguments, url, given=request)


def _run_program(program: Path, *arguments: str, given: str = "") -> str:
    ran = subprocess.run(
        [program, *arguments], input=given, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
