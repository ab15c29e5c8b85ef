"""Names that others chose do not command the terminal of who reads about them.

Most fields of Kubernetes objects are free text, such as the name of an owner, and so are those of a snapshot
file, of a record, and of the response of a server.
"""

import json
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import grpc
import pytest
from google.protobuf.json_format import MessageToJson
from grpc_health.v1.health import HealthServicer
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from tenure.server.service import SERVICE
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.explain_pb2 import ExplainResponse
from tenure.v1.simulate_pb2 import SimulateResponse

from tests.e2e.command import run_tenure
from tests.small_snapshot import small_snapshot

HOSTILE: Final = (
    "\x1b[2J\x1b]0;title\x07"  # clears the screen, sets the title
    "\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\"
    "\x9b31m\x08\r\u202ereversed\u2066\u200b\x00[/red][bold]\nsecond line"
)


def assert_harmless(text: str) -> None:
    unprintable = {character for character in text if not character.isprintable()}
    assert unprintable <= {"\n"}
    assert "Traceback" not in text


def hostile_file(folder: Path) -> str:
    snapshot = small_snapshot()
    snapshot.cluster_id = HOSTILE
    for rows in (snapshot.pod_groups, snapshot.pods):
        for row in rows:
            row.name = HOSTILE + row.uid
    for group in snapshot.pod_groups:
        group.namespace = HOSTILE
        group.annotations["kai.scheduler/requeue-delay"] = HOSTILE
        group.annotations["kai.scheduler/preemptibility"] = HOSTILE
    path = folder / "hostile.json"
    path.write_text(MessageToJson(snapshot))
    return str(path)


COMMANDS: Final = [
    ("decide", "FILE"),
    ("decide", "FILE", "--output", "json"),
    ("workloads", "FILE"),
    ("workloads", "FILE", "--output", "json"),
    ("workloads", "FILE", "--queue", "unknown"),
    ("simulate", "FILE", "--remove-pod-group", "runs"),
    ("explain", "FILE", "why-pending", "waits"),
    ("explain", "FILE", "why-pending", "waits", "--output", "json"),
    ("explain", "FILE", "why-not-victim", "runs", "--for", "waits"),
    ("explain", "FILE", "protected-until", "runs"),
    ("explain", "FILE", "why-pending", HOSTILE.replace("\x00", "") + "run"),
]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            command,
            marks=() if command in (COMMANDS[0], COMMANDS[3], COMMANDS[-1]) else pytest.mark.long,
            id=" ".join(command[:1] + command[2:])[:40],
        )
        for command in COMMANDS
    ],
)
def test_names_of_a_snapshot_are_escaped(command: tuple[str, ...], tmp_path: Path) -> None:
    file = hostile_file(tmp_path)
    done = run_tenure(*(file if word == "FILE" else word for word in command))
    assert done.returncode in (0, 2), done.stderr
    assert_harmless(done.stdout + done.stderr)


def test_lines_of_a_manifest_are_escaped(tmp_path: Path) -> None:
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": HOSTILE}}
    manifest["spec"] = {"template": {"spec": {"priorityClassName": HOSTILE}}}
    (tmp_path / "job.yaml").write_text(json.dumps(manifest, ensure_ascii=True))
    done = run_tenure("migrate", str(tmp_path), "--check")
    assert_harmless(done.stdout + done.stderr)


Answer = Callable[[bytes, grpc.ServicerContext], bytes]


class _Hostile(grpc.GenericRpcHandler):
    """Answers all methods of the service alike."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
        if not details.method.startswith(f"/{SERVICE}/"):
            return None
        return grpc.unary_unary_rpc_method_handler(self._answer)


@contextmanager
def hostile_server(answer: Answer) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((_Hostile(answer),))
    add_HealthServicer_to_server(HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None)


def explanation() -> bytes:
    answer = ExplainResponse()
    answer.explanation.operator = HOSTILE
    answer.remedies.add().explanation.operator = HOSTILE
    return answer.SerializeToString()


def decisions() -> DecideResponse:
    """Groups and outcomes of objects that do not exist."""
    answer = DecideResponse(cluster_id=HOSTILE)
    group = answer.groups.add(id=HOSTILE, action=HOSTILE, beneficiary=HOSTILE)
    group.decisions.add(id=HOSTILE).bind.node = HOSTILE
    group.decisions.add(id=HOSTILE).evict.pod = HOSTILE
    outcome = answer.outcomes.add(pod_group=HOSTILE, kind=3)
    outcome.reason.message = outcome.reason.detail = HOSTILE
    outcome.reason.until.seconds = 2**62
    answer.next_wake_time.seconds = 2**62
    answer.warnings.add(code=1, detail=HOSTILE, count=2**62, pod_groups=[HOSTILE])
    return answer


def status(code: grpc.StatusCode) -> Answer:
    def answer(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(code, HOSTILE)

    return answer


ANSWERS: Final[dict[str, Answer]] = {
    "nothing": lambda *_: b"",
    "no message": lambda *_: b"\xff" * 1_000,
    "a truncated message": lambda *_: decisions().SerializeToString()[:-3],
    "a hostile explanation": lambda *_: explanation(),
    "hostile decisions": lambda *_: decisions().SerializeToString(),
    "hostile cycles": lambda *_: SimulateResponse(cycles=[decisions()]).SerializeToString(),
    "a hostile error of the request": status(grpc.StatusCode.INVALID_ARGUMENT),
    "a hostile denial": status(grpc.StatusCode.PERMISSION_DENIED),
    "a hostile failure": status(grpc.StatusCode.UNKNOWN),
}
CALLS: Final = [("decide",), ("simulate", "--cycles", "2"), ("explain", "why-pending", "waits")]


@pytest.mark.long
@pytest.mark.parametrize("command", CALLS, ids=lambda command: command[0])
@pytest.mark.parametrize("answer", ANSWERS)
def test_hostile_server_gets_no_further_than_an_error(
    answer: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    name, *more = command
    with hostile_server(ANSWERS[answer]) as address:
        done = run_tenure(name, hostile_file(tmp_path), *more, "--server", address, "--timeout", "20s")
    assert done.returncode in (0, 2, 3), done.stderr
    assert_harmless(done.stdout + done.stderr)
    assert len(done.stderr) < 5_000
