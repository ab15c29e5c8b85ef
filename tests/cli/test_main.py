"""The command line: exit codes and messages."""

import subprocess
import sys
from importlib.metadata import version
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import run

import pytest
from google.protobuf.json_format import Parse
from pydantic.alias_generators import to_camel
from tenure.cli.options import SnapshotFormat
from tenure.client.snapshot_file import Format, write_snapshot
from tenure.codec.engine import Engine
from tenure.server.security.access_control import AccessControl
from tenure.server.settings import Security
from tenure.solver import cycle
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse

from tests.cli.command import Tenure, in_process
from tests.server.security.certificate_authority import TOKEN, CertificateAuthority, token_file
from tests.server.servers import FailingEngine, run_server
from tests.small_snapshot import child_environment, small_snapshot


@pytest.fixture
def tenure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tenure:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path) -> str:
    file = str(tmp_path / "small.txtpb")
    write_snapshot(small_snapshot(), file)
    return file


def answer(*actions: str) -> DecideResponse:
    return Engine(default_profile()).decide(DecideRequest(snapshot=small_snapshot(), actions=actions)).parse()


def test_json_output_is_the_response_of_the_contract(tenure: Tenure, file: str) -> None:
    ended = tenure("decide", file, "--output", "json")
    assert ended.code == 0
    assert Parse(ended.out, DecideResponse()) == answer()


def test_version_is_that_of_the_package(tenure: Tenure) -> None:
    form = "interpreted" if str(cycle.__file__).endswith(".py") else "compiled"
    assert tenure("--version") == (0, f"tenure {version('tenure')} (solver: {form})\n", "")


def test_table_names_the_pod_groups(tenure: Tenure, file: str) -> None:
    ended = tenure("decide", file)
    assert ended.code == 0
    assert "waits" in ended.out


def test_actions_are_run_in_order(tenure: Tenure, file: str) -> None:
    ended = tenure("decide", file, "--action", "preempt", "--action", "allocate", "--output", "json")
    assert Parse(ended.out, DecideResponse()) == answer("preempt", "allocate")


def test_server_option_sends_the_request_to_the_server(tenure: Tenure, file: str) -> None:
    with run_server() as (_, address):
        ended = tenure("decide", file, "--server", address, "--output", "json")
    assert Parse(ended.out, DecideResponse()) == answer()


def test_standard_input_is_read(tenure: Tenure, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(Path(file).read_bytes())))
    ended = tenure("decide", "-", "--format", "text", "--output", "json")
    assert Parse(ended.out, DecideResponse()) == answer()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.yaml"], "tenure: nowhere.yaml: cannot be read: No such file or directory"),
        (["README.md"], "tenure: README.md: cannot infer the format from the file name"),
        (["-"], "tenure: -: cannot infer the format from the file name"),
        (["FILE", "--config", "no.yaml"], "tenure: no.yaml: cannot be read"),
        (["FILE", "--config", "no.yaml", "--server", "127.0.0.1:1"], "the server uses its own"),
        (["FILE", "--server", "127.0.0.1:1", "--timeout", "5"], "'5' is not a duration"),
        (["FILE", "--action", "no"], "actions[0]: unknown action 'no'"),
        (["FILE", "--output", "xml"], "'xml' is not one of"),
        ([], "Missing argument"),
    ],
)
def test_invalid_use_exits_with_2(tenure: Tenure, file: str, arguments: list[str], says: str) -> None:
    ended = tenure("decide", *(file if argument == "FILE" else argument for argument in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_violations_are_listed_for_local_and_remote_decisions(tenure: Tenure, tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text("{}")
    with run_server() as (_, address):
        for where in ([], ["--server", address]):
            ended = tenure("decide", str(file), *where)
            assert ended.code == 2
            assert "cluster_id: is required" in ended.err
            assert "now: is required" in ended.err


def test_unreachable_server_exits_with_3(tenure: Tenure, file: str) -> None:
    ended = tenure("decide", file, "--server", "127.0.0.1:1", "--timeout", "300ms")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        "tenure: no response from 127.0.0.1:1; check the address and whether `tenure serve` is running "
        "there\n"
    )


def test_internal_error_of_the_server_exits_with_3(tenure: Tenure, file: str) -> None:
    with run_server(FailingEngine(default_profile())) as (_, address):
        ended = tenure("decide", file, "--server", address)
    assert ended.code == 3
    assert "report it" in ended.err


def test_internal_error_is_reported_in_one_line(
    tenure: Tenure, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.codec.engine.Engine", FailingEngine)
    ended = tenure("decide", file)
    assert ended.code == 3
    assert ended.err.startswith(
        "tenure: internal error, please report it: KeyError: 'secret of the inside' ("
    )
    assert ended.err.count("\n") == 1


def test_full_disk_is_not_an_internal_error(file: str) -> None:
    command = [sys.executable, "-m", "tenure.cli", "decide", file]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command, env=child_environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    message = "tenure: cannot write output: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (3, message)


@pytest.mark.parametrize("command", [[], ["decide"], ["serve"], ["demo"], ["import"], ["import", "openb"]])
def test_help_explains(tenure: Tenure, command: list[str]) -> None:
    ended = tenure(*command, "--help")
    assert ended.code == 0
    assert "Usage: tenure" in ended.out


def test_help_lists_the_exit_codes(tenure: Tenure) -> None:
    assert "Exit status: 0 decided; 2 " in " ".join(tenure("decide", "--help").out.split())


def test_formats_are_those_of_the_client() -> None:
    assert [form.value for form in SnapshotFormat] == [form.value for form in Format]


def test_command_line_starts_without_heavy_libraries() -> None:
    code = "import sys, tenure.cli.main; print(*sys.modules)"
    loaded = run(
        [sys.executable, "-c", code], env=child_environment(), capture_output=True, text=True, check=True
    )
    assert not {"grpc", "google.protobuf", "rich", "pydantic", "yaml"} & set(loaded.stdout.split())


def test_request_reaches_a_server_with_tls_and_tokens(tenure: Tenure, file: str, tmp_path: Path) -> None:
    ours, tokens = CertificateAuthority(tmp_path), token_file(tmp_path, TOKEN)
    guard = AccessControl.of(Security(tlsClientCa=ours.file, tokenFile=tokens, **camel(ours.server())))
    client = [str(word) for name, path in ours.client().items() for word in (dashed(name), path)]
    with run_server(guard=guard) as (_, address):
        to_server = ["--server", address, "--tls-ca", str(ours.file), *client]
        for command in (["decide", file, "--output", "json"], ["workloads", file]):
            assert tenure(*command, *to_server, "--token-file", str(tokens)).code == 0
        ended = tenure("decide", file, *to_server)
        assert (ended.code, ended.out) == (2, "")
        assert "rejected the credentials: missing token" in ended.err


def test_token_file_can_be_set_by_the_environment(
    tenure: Tenure, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = token_file(tmp_path, TOKEN)
    monkeypatch.setenv("TENURE_TOKEN_FILE", str(tokens))
    with run_server(guard=AccessControl.of(Security(tokenFile=tokens))) as (_, address):
        assert tenure("decide", file, "--server", address).code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tls-ca", "no.pem"], "tenure: no.pem: cannot be read: No such file"),
        (["--tls-cert", "no.pem"], "tenure: a client certificate requires its key: set tls_key too"),
        (["--token-file", "no", "--allow-plaintext"], "tenure: no: cannot be read: No such file"),
        (["--token-file", "FILE"], "tenure: a token must not be sent in plaintext to another machine"),
    ],
)
def test_invalid_access_options_exit_with_2(
    tenure: Tenure, file: str, arguments: list[str], says: str
) -> None:
    words = [file if word == "FILE" else word for word in arguments]
    ended = tenure("decide", file, "--server", "tenure.invalid:1", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(says)


def camel(files: dict[str, Path]) -> dict[str, Path]:
    """Convert a key to the camel case of configuration files."""
    return {to_camel(name): file for name, file in files.items()}


def dashed(name: str) -> str:
    """Convert an argument name to its command-line option."""
    return f"--{name.replace('_', '-')}"
