"""Invalid telemetry settings stop the start with one error line that names the fix; OTEL variables apply."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tenure.client import Client

from tests.small_snapshot import child_environment
from tests.telemetry.otlp_receiver import run_receiver
from tests.telemetry.telemetry_server import contested_snapshot, run_telemetry_server, write_configuration

WITHOUT = """
import sys
for name in ("opentelemetry.exporter.otlp.proto.grpc", "opentelemetry.exporter.prometheus"):
    sys.modules[name] = None
from tenure.cli.main import main
main()
"""
COLLECTOR = {"otlpEndpoint": "http://127.0.0.1:4317"}


def start_server(
    tmp_path: Path, program: tuple[str, ...], telemetry: dict[str, str], **variables: str
) -> tuple[int, str]:
    """Start a server that fails at startup; return its exit code and standard error."""
    file = tmp_path / "telling.yaml"
    write_configuration(file, **telemetry)
    serve = ("serve", "--listen", "127.0.0.1:0", "--no-records", "--config", str(file))
    command = [sys.executable, *program, *serve]
    ended = subprocess.run(
        command, env=child_environment(**variables), capture_output=True, text=True, timeout=30, check=False
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {"OTEL_TRACES_EXPORTER": "zipkin"},
            "OTEL_TRACES_EXPORTER=zipkin is not supported: use otlp or none",
        ),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            "OTLP over http/protobuf is not supported: use grpc",
        ),
    ],
    ids=str,
)
def test_variable_with_an_unavailable_feature_is_named(
    variables: dict[str, str], says: str, tmp_path: Path
) -> None:
    code, errors = start_server(tmp_path, ("-m", "tenure.cli"), COLLECTOR, **variables)
    assert (code, errors) == (2, f"tenure: {says}\n")


def test_metrics_address_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, errors = start_server(tmp_path, ("-m", "tenure.cli"), {"metricsListen": address})
    assert code == 2
    assert errors.startswith(f"tenure: cannot serve metrics on {address}: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("telemetry", [COLLECTOR, {"metricsListen": "127.0.0.1:0"}], ids=str)
def test_missing_required_packages_are_named(telemetry: dict[str, str], tmp_path: Path) -> None:
    code, errors = start_server(tmp_path, ("-c", WITHOUT), telemetry)
    assert code == 2
    assert errors.endswith("requires the extra `telemetry`: pip install 'tenure[telemetry]'\n")


def test_server_without_export_starts_without_the_telemetry_packages() -> None:
    serve = ("serve", "--listen", "127.0.0.1:0", "--no-records")
    command = [sys.executable, "-c", WITHOUT, *serve]
    with subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("tenure: serving on ")
        process.terminate()
        assert process.wait(20) == 0


def test_standard_variables_name_the_collector_and_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_receiver() as (received, address):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{address}")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "decisions")
        monkeypatch.setenv("OTEL_LOGS_EXPORTER", "none")
        with run_telemetry_server(tmp_path) as (_, server), Client(server) as client:
            client.decide(contested_snapshot())
            received.wait_until(lambda got: got.named("tenure.cycle"))
    assert received.services == {"decisions"}
    assert not received.lines
