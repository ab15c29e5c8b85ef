"""`tenure serve` as a process: it logs its address, completes calls in flight and exits with status 0."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tenure.client import Client, MessageTooLarge, Unauthenticated
from tenure.v1 import snapshot_pb2 as pb

from tests.server.security.certificate_authority import TOKEN, CertificateAuthority, token_file
from tests.server.servers import run_server_process
from tests.server.slow_search import NODES, SLOW_OPTIONS, slow_search_snapshot
from tests.small_snapshot import child_environment, small_snapshot


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_calls_in_flight_complete_after_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    config = tmp_path / "slow.yaml"
    config.write_text(SLOW_OPTIONS)
    with (
        run_server_process("--config", str(config)) as (process, address),
        Client(address, timeout=60) as client,
        ThreadPoolExecutor() as pool,
    ):
        in_flight = pool.submit(client.decide, slow_search_snapshot(NODES))
        time.sleep(1)
        assert not in_flight.done()
        process.send_signal(number)
        assert in_flight.result(30).outcomes
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_server_prints_one_line() -> None:
    with run_server_process() as (process, address):
        process.terminate()
        output, errors = process.communicate(timeout=10)
    assert address.startswith("127.0.0.1:")
    assert (output, errors, process.returncode) == ("", "", 0)


def test_configuration_file_is_applied(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: preempt\nserver: {maxMessageMib: 1}")
    with run_server_process("--config", str(file)) as (_, address), Client(address) as client:
        assert not client.decide(small_snapshot()).groups
        with pytest.raises(MessageTooLarge):
            client.decide(pb.ClusterSnapshot(cluster_id="x" * 2**20))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--listen", "0.0.0.0:0"], "add --allow-plaintext on a trusted network"),
        (["--listen", "localhost"], "'localhost' is not HOST:PORT"),
        (["--listen", "192.0.2.1:0", "--allow-plaintext"], "cannot listen on 192.0.2.1:0"),
        (["--config", "no.yaml"], "no.yaml: cannot be read: No such file or directory"),
    ],
)
def test_server_that_cannot_start_reports_the_reason(arguments: list[str], says: str) -> None:
    command = [sys.executable, "-m", "tenure.cli", "serve", *arguments]
    ended = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, timeout=30, check=False
    )
    assert ended.returncode == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_tls_and_tokens_of_the_command_line_are_used(tmp_path: Path) -> None:
    ours = CertificateAuthority(tmp_path)
    files = {"--token-file": token_file(tmp_path, f"adapter {TOKEN}"), "--tls-client-ca": ours.file}
    for name, file in ours.server().items():
        files[f"--{name.replace('_', '-')}"] = file
    arguments = [str(word) for option in files.items() for word in option]
    with run_server_process(*arguments) as (_, address):
        with Client(address, tls_ca=ours.file, token=TOKEN, **ours.client()) as client:
            assert client.decide(small_snapshot()).outcomes
        with pytest.raises(Unauthenticated), Client(address, tls_ca=ours.file, **ours.client()) as client:
            client.decide(small_snapshot())


def test_tls_and_tokens_of_the_configuration_are_used(tmp_path: Path) -> None:
    ours = CertificateAuthority(tmp_path)
    pair, tokens = ours.server(), token_file(tmp_path, TOKEN)
    file = tmp_path / "scheduler.yaml"
    keys = {"tlsCert": pair["tls_cert"], "tlsKey": pair["tls_key"], "tokenFile": tokens, "maxStates": 3}
    file.write_text("\n  ".join(["server:", *(f"{key}: {value}" for key, value in keys.items())]))
    with (
        run_server_process("--config", str(file)) as (_, address),
        Client(address, tls_ca=ours.file, token=TOKEN) as client,
    ):
        assert client.get_capabilities().limits.max_states == 3


def test_tls_server_can_listen_beyond_loopback(tmp_path: Path) -> None:
    pair = CertificateAuthority(tmp_path).server()
    arguments = ["--tls-cert", str(pair["tls_cert"]), "--tls-key", str(pair["tls_key"])]
    with run_server_process("--listen", "0.0.0.0:0", *arguments) as (_, address):
        assert address.startswith("0.0.0.0:")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tls-cert", "no.pem"], "tenure: TLS requires a certificate and its key: add --tls-key"),
        (["--tls-cert", "no.pem", "--tls-key", "no.key"], "tenure: no.pem: cannot be read: No such file"),
        (["--tls-client-ca", "no.pem"], "tenure: a client CA requires TLS"),
        (["--token-file", "no"], "tenure: no: cannot be read: No such file"),
        (
            ["--token-file", "/dev/null", "--listen", "0.0.0.0:0"],
            "add --tls-cert and --tls-key, listen on",
        ),
    ],
)
def test_invalid_security_settings_prevent_the_start(arguments: list[str], says: str) -> None:
    command = [sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0", *arguments]
    ended = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert ended.stderr.count("\n") == 1
