"""`tenure console` and `tenure demo --console` as processes: what they print, serve, and how they end."""

import signal
import urllib.error
import urllib.request

import pytest
from tenure.client import Client, StateSession

from tests.console.console_process import process
from tests.console.console_site import sample
from tests.e2e.command import run_tenure
from tests.server.servers import run_server


def read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as response:
        return str(response.read().decode())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_console_serves_until_a_signal_and_ends_open_streams(number: signal.Signals) -> None:
    with run_server() as (_, service), Client(service) as client, StateSession(client) as session:
        session.push(sample())
        with process("console", "--server", service, "--listen", "127.0.0.1:0") as (child, address):
            assert "two-departments" in read(f"{address}queues")
            with urllib.request.urlopen(f"{address}events", timeout=30) as events:
                assert events.readline() == b"retry: 2000\n"
                child.send_signal(number)
                assert child.wait(20) == 0
            assert child.stderr is not None
            assert child.stderr.read() == ""


@pytest.mark.long
def test_service_that_is_gone_is_told_on_the_page() -> None:
    with process("console", "--server", "127.0.0.1:1", "--listen", "127.0.0.1:0") as (_, address):
        with pytest.raises(urllib.error.HTTPError, match="503") as failure:
            read(f"{address}queues")
        assert "The service does not respond" in failure.value.read().decode()
        assert read(f"{address}healthz") == "ok"


@pytest.mark.long
def test_demo_shows_a_cluster_that_moves() -> None:
    with process("demo", "--console") as (child, address):
        assert "chat-api" in read(f"{address}workloads")
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0
        assert child.stderr is not None
        assert child.stderr.read() == ""


def test_requests_for_other_hosts_are_refused() -> None:
    with process("console", "--server", "127.0.0.1:1", "--listen", "127.0.0.1:0") as (_, address):
        rebound = urllib.request.Request(f"{address}queues", headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(rebound, timeout=30)
        probe = urllib.request.Request(f"{address}healthz", headers={"Host": "10.1.2.3:8080"})
        with urllib.request.urlopen(probe, timeout=30) as response:
            assert response.read() == b"ok"


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["--listen", "0.0.0.0:0"], "--forward-authorization"),
        (["--listen", "0.0.0.0:0", "--allow-anonymous"], "--allowed-host NAME"),
        (["--allowed-host", "a*.example.com"], "--allowed-host: 'a*.example.com'"),
        (["--audience", "tenant"], "--queue NAME"),
        (["--listen", "127.0.0.1"], "HOST:PORT"),
    ],
)
def test_unsafe_options_are_refused_with_the_fix(arguments: list[str], fix: str) -> None:
    run = run_tenure("console", "--server", "127.0.0.1:1", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert fix in " ".join(run.stderr.replace("│", " ").split())
