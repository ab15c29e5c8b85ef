"""Programs of the image's build stage, run as in the image: as an unprivileged user without a home."""

import json
import os

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckResponse
from tenure.client import Client

from tests.child_processes import free_port
from tests.packaging.dockerfile import USER, ImageContent, arguments_of, compose_service, install
from tests.server.test_grpc_server_health import health
from tests.small_snapshot import small_snapshot

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

COMMANDS = [
    (["adapter", "--help"], 0, "Schedule a Kubernetes cluster"),
    (["adapter", "--cluster-id", "c"], 2, "no service account, and this user has no home directory"),
    (["serve", "--config", "/etc/tenure/none.yaml"], 2, "none.yaml: cannot be read: No such file"),
]


def test_image_is_complete_serves_and_is_read_only() -> None:
    """One test, because the build takes half a minute."""
    with install(USER, is_root=os.geteuid() == 0) as image:
        check_serving(image)
        for arguments, code, message in COMMANDS:
            check_command(image, arguments, code, message)
        check_rights(image)


def check_serving(image: ImageContent) -> None:
    """Run the server with the defaults of the image; compose's health check reports its state."""
    process = image.start("tenure", *json.loads(*arguments_of("CMD")), "--listen", "127.0.0.1:0")
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    with Client(address) as client, grpc.insecure_channel(address) as channel:
        assert health(channel) == HealthCheckResponse.SERVING
        assert client.decide(small_snapshot()).outcomes
    assert run_compose_health_check(image, address) == 0
    process.terminate()
    output, errors = process.communicate(timeout=30)
    assert (output, process.returncode) == ("", 0)
    assert "ERROR" not in errors
    assert "Traceback" not in errors
    assert run_compose_health_check(image, f"127.0.0.1:{free_port()}") != 0


def run_compose_health_check(image: ImageContent, address: str) -> int:
    """Return the exit status of the health check in docker/compose.yaml."""
    kind, program, *arguments = compose_service()["healthcheck"]["test"]
    assert kind == "CMD"
    asked = [argument.replace("127.0.0.1:50051", address) for argument in arguments]
    process = image.start(program, *asked)
    process.communicate(timeout=30)
    return process.returncode


def check_command(image: ImageContent, arguments: list[str], code: int, message: str) -> None:
    process = image.start("tenure", *arguments, TERM="dumb", COLUMNS="100")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert message in output + errors


def check_rights(image: ImageContent) -> None:
    lines = f"import os; print(os.access('{image.folder}/bin/tenure', os.W_OK), os.access('/', os.W_OK))"
    process = image.start("python", "-c", lines)
    assert process.communicate(timeout=30)[0].split() == ["False", "False"]
