"""TLS over a real connection: who trusts whom, and certificates that change while the server runs."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tenure.client import BadCredentials, Client, Unavailable, Untrusted
from tenure.server.security.guard import Guard
from tenure.server.settings import Security

from tests.server.authority import Authority
from tests.server.given import small_snapshot
from tests.server.running import server_here


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def strangers(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "strangers")


@contextmanager
def serving(**files: Path) -> Iterator[str]:
    guard = Guard.of(Security.model_construct(**files))
    with server_here(guard=guard) as (_, address):
        yield address


def asks(address: str, timeout: float = 20, **access: object) -> bool:
    with Client(address, timeout=timeout, **access) as client:
        return bool(client.decide(small_snapshot()).outcomes)


def test_client_that_trusts_the_ca_is_answered(ours: Authority) -> None:
    with serving(**ours.server()) as address:
        assert asks(address, tls_ca=ours.file)


def test_certificate_of_another_ca_is_told_at_once(ours: Authority, strangers: Authority) -> None:
    with serving(**ours.server()) as address:
        began = time.monotonic()
        with pytest.raises(Untrusted, match="did the given CA sign its certificate"):
            asks(address, tls_ca=strangers.file)
        assert time.monotonic() - began < 5


def test_certificate_for_another_host_is_told(ours: Authority) -> None:
    with (
        serving(**ours.server("elsewhere.example.com")) as address,
        pytest.raises(Untrusted, match="is that made out to this address"),
    ):
        asks(address, tls_ca=ours.file)


def test_clear_text_to_a_server_with_tls_gets_a_hint(ours: Authority) -> None:
    with serving(**ours.server()) as address, pytest.raises(Unavailable, match="does the server ask for TLS"):
        asks(address, timeout=0.5)


def test_tls_to_a_server_without_is_told(ours: Authority) -> None:
    with server_here() as (_, address), pytest.raises(Untrusted, match="does it speak TLS"):
        asks(address, tls_ca=ours.file)


def test_client_with_a_certificate_of_the_client_ca_is_answered(ours: Authority) -> None:
    with serving(**ours.server(), tls_client_ca=ours.file) as address:
        assert asks(address, tls_ca=ours.file, **ours.client())


def test_client_without_a_certificate_cannot_connect_when_one_is_asked_for(ours: Authority) -> None:
    with (
        serving(**ours.server(), tls_client_ca=ours.file) as address,
        pytest.raises(Unavailable, match="or for a certificate of the client"),
    ):
        asks(address, timeout=0.5, tls_ca=ours.file)


def test_client_with_a_stranger_s_certificate_cannot_connect(ours: Authority, strangers: Authority) -> None:
    with (
        serving(**ours.server(), tls_client_ca=ours.file) as address,
        pytest.raises(Unavailable, match="or for a certificate of the client"),
    ):
        asks(address, timeout=0.5, tls_ca=ours.file, **strangers.client())


def test_new_certificate_is_used_without_a_restart(ours: Authority, tmp_path: Path) -> None:
    with serving(**ours.server()) as address, Client(address, tls_ca=ours.file) as connected:
        assert connected.decide(small_snapshot()).outcomes
        renewed = Authority(tmp_path)
        renewed.server()
        assert asks(address, tls_ca=renewed.file)
        assert connected.decide(small_snapshot()).outcomes


def test_bad_new_certificate_leaves_the_old_one_and_is_logged_once(
    ours: Authority, strangers: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    files = ours.server()
    with serving(**files) as address:
        files["tls_key"].write_bytes(strangers.server()["tls_key"].read_bytes())
        assert asks(address, tls_ca=ours.file)
        assert asks(address, tls_ca=ours.file)
        (said,) = (record.getMessage() for record in caplog.records if record.levelno == logging.ERROR)
        assert "the old ones stay" in said
        assert "ours-server.key: is not the private key of" in said
        ours.server()
        assert asks(address, tls_ca=ours.file)


def test_new_client_ca_is_used_without_a_restart(ours: Authority, strangers: Authority) -> None:
    trusted = ours.file.with_name("trusted.pem")
    trusted.write_bytes(ours.file.read_bytes())
    with serving(**ours.server(), tls_client_ca=trusted) as address:
        with pytest.raises(Unavailable):
            asks(address, timeout=0.5, tls_ca=ours.file, **strangers.client())
        trusted.write_bytes(strangers.file.read_bytes())
        assert asks(address, tls_ca=ours.file, **strangers.client())


def broken(files: dict[str, Path], how: str, other: Authority) -> dict[str, Path]:
    """The settings after something happened to the files."""
    match how:
        case "no key":
            files["tls_key"].unlink()
        case "no certificate":
            files["tls_cert"].unlink()
        case "folder":
            files["tls_cert"] = files["tls_cert"].parent
        case "garbage":
            files["tls_cert"].write_text("garbage")
        case "swapped":
            files["tls_key"].write_bytes(other.server()["tls_key"].read_bytes())
        case "client ca":
            files["tls_client_ca"] = files["tls_key"]
        case "key alone":
            del files["tls_cert"]
        case "certificate alone":
            del files["tls_key"]
        case "client ca alone":
            return {"tls_client_ca": other.file}
    return files


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no key", r"ours-server\.key: cannot be read: No such file"),
        ("no certificate", r"ours-server\.pem: cannot be read: No such file"),
        ("folder", "cannot be read: Is a directory"),
        ("garbage", "are not a certificate and its private key in PEM"),
        ("swapped", r"ours-server\.key: is not the private key of \S+ours-server\.pem"),
        ("client ca", "holds no certificate in PEM"),
        ("key alone", "add --tls-cert"),
        ("certificate alone", "add --tls-key"),
        ("client ca alone", "add --tls-cert and --tls-key"),
    ],
)
def test_server_refuses_files_it_cannot_use(
    ours: Authority, strangers: Authority, how: str, says: str
) -> None:
    files = broken(ours.server(), how, strangers)
    with pytest.raises(ValueError, match=says):
        Guard.of(Security.model_construct(**files))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no key", r"ours-client\.key: cannot be read: No such file"),
        ("garbage", "are not a certificate and its private key in PEM"),
        ("swapped", r"ours-client\.key: is not the private key of"),
        ("key alone", "give tls_cert as well"),
        ("certificate alone", "give tls_key as well"),
    ],
)
def test_client_refuses_files_it_cannot_use(
    ours: Authority, strangers: Authority, how: str, says: str
) -> None:
    files = broken(ours.client(), how, strangers)
    with pytest.raises(BadCredentials, match=says):
        Client("127.0.0.1:1", tls_ca=ours.file, **files)


def test_client_refuses_a_ca_that_is_none(ours: Authority) -> None:
    with pytest.raises(BadCredentials, match="holds no certificate in PEM"):
        Client("127.0.0.1:1", tls_ca=ours.server()["tls_key"])
