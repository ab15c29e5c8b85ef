"""TLS over a real connection: which certificates are trusted, and reloading while the server runs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from tenure.client import Client, InvalidCredentials, TlsHandshakeFailed, Unavailable
from tenure.server.security.access_control import AccessControl
from tenure.server.settings import Security

from tests.server.security.certificate_authority import CertificateAuthority
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


@pytest.fixture
def own_authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path)


@pytest.fixture
def foreign_authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path, "strangers")


@contextmanager
def serve_tls(**files: Path) -> Iterator[str]:
    guard = AccessControl.of(Security.model_construct(**files))
    with run_server(guard=guard) as (_, address):
        yield address


LONGER_THAN_A_TEST: Final = 600.0
"""Seconds after which a call that waits for its deadline fails its test."""


def call_capabilities(address: str, timeout: float = 20, **access: object) -> bool:
    with Client(address, timeout=timeout, **access) as client:
        return bool(client.decide(small_snapshot()).outcomes)


def test_client_that_trusts_the_ca_gets_a_response(own_authority: CertificateAuthority) -> None:
    with serve_tls(**own_authority.server()) as address:
        assert call_capabilities(address, tls_ca=own_authority.file)


def test_certificate_of_another_ca_is_reported_immediately(
    own_authority: CertificateAuthority, foreign_authority: CertificateAuthority
) -> None:
    with (
        serve_tls(**own_authority.server()) as address,
        pytest.raises(TlsHandshakeFailed, match="certificate is signed by the given CA"),
    ):
        call_capabilities(address, LONGER_THAN_A_TEST, tls_ca=foreign_authority.file)


def test_certificate_for_another_host_is_reported(own_authority: CertificateAuthority) -> None:
    with (
        serve_tls(**own_authority.server("elsewhere.example.com")) as address,
        pytest.raises(TlsHandshakeFailed, match="valid for this address"),
    ):
        call_capabilities(address, tls_ca=own_authority.file)


def test_plaintext_client_of_a_tls_server_gets_a_hint(own_authority: CertificateAuthority) -> None:
    with (
        serve_tls(**own_authority.server()) as address,
        pytest.raises(Unavailable, match="check whether the server requires TLS"),
    ):
        call_capabilities(address, timeout=0.5)


def test_tls_client_of_a_plaintext_server_gets_a_hint(own_authority: CertificateAuthority) -> None:
    with (
        run_server() as (_, address),
        pytest.raises(TlsHandshakeFailed, match="check whether the server uses TLS"),
    ):
        call_capabilities(address, tls_ca=own_authority.file)


def test_client_with_a_certificate_of_the_client_ca_gets_a_response(
    own_authority: CertificateAuthority,
) -> None:
    with serve_tls(**own_authority.server(), tls_client_ca=own_authority.file) as address:
        assert call_capabilities(address, tls_ca=own_authority.file, **own_authority.client())


def test_client_without_certificate_cannot_connect_when_one_is_required(
    own_authority: CertificateAuthority,
) -> None:
    with (
        serve_tls(**own_authority.server(), tls_client_ca=own_authority.file) as address,
        pytest.raises(Unavailable, match="or a client certificate"),
    ):
        call_capabilities(address, timeout=0.5, tls_ca=own_authority.file)


def test_client_with_a_foreign_certificate_cannot_connect(
    own_authority: CertificateAuthority, foreign_authority: CertificateAuthority
) -> None:
    with (
        serve_tls(**own_authority.server(), tls_client_ca=own_authority.file) as address,
        pytest.raises(Unavailable, match="or a client certificate"),
    ):
        call_capabilities(address, timeout=0.5, tls_ca=own_authority.file, **foreign_authority.client())


def test_new_certificate_is_used_without_a_restart(
    own_authority: CertificateAuthority, tmp_path: Path
) -> None:
    with (
        serve_tls(**own_authority.server()) as address,
        Client(address, tls_ca=own_authority.file) as connected,
    ):
        assert connected.decide(small_snapshot()).outcomes
        renewed = CertificateAuthority(tmp_path)
        renewed.server()
        assert call_capabilities(address, tls_ca=renewed.file)
        assert connected.decide(small_snapshot()).outcomes


def test_invalid_new_certificate_retains_the_old_one_and_is_logged_once(
    own_authority: CertificateAuthority,
    foreign_authority: CertificateAuthority,
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = own_authority.server()
    with serve_tls(**files) as address:
        files["tls_key"].write_bytes(foreign_authority.server()["tls_key"].read_bytes())
        assert call_capabilities(address, tls_ca=own_authority.file)
        assert call_capabilities(address, tls_ca=own_authority.file)
        (message,) = (record.getMessage() for record in caplog.records if record.levelno == logging.ERROR)
        assert "keeping the previous ones" in message
        assert "ours-server.key: is not the private key of" in message
        own_authority.server()
        assert call_capabilities(address, tls_ca=own_authority.file)


def test_new_client_ca_is_used_without_a_restart(
    own_authority: CertificateAuthority, foreign_authority: CertificateAuthority
) -> None:
    trusted = own_authority.file.with_name("trusted.pem")
    trusted.write_bytes(own_authority.file.read_bytes())
    with serve_tls(**own_authority.server(), tls_client_ca=trusted) as address:
        with pytest.raises(Unavailable):
            call_capabilities(address, timeout=0.5, tls_ca=own_authority.file, **foreign_authority.client())
        trusted.write_bytes(foreign_authority.file.read_bytes())
        assert call_capabilities(address, tls_ca=own_authority.file, **foreign_authority.client())


def broken_files(files: dict[str, Path], how: str, other: CertificateAuthority) -> dict[str, Path]:
    """Return the settings after the files were damaged."""
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
        ("garbage", "not a PEM certificate and its private key"),
        ("swapped", r"ours-server\.key: is not the private key of \S+ours-server\.pem"),
        ("client ca", "contains no PEM certificate"),
        ("key alone", "add --tls-cert"),
        ("certificate alone", "add --tls-key"),
        ("client ca alone", "add --tls-cert and --tls-key"),
    ],
)
def test_server_rejects_unusable_files(
    own_authority: CertificateAuthority, foreign_authority: CertificateAuthority, how: str, says: str
) -> None:
    files = broken_files(own_authority.server(), how, foreign_authority)
    with pytest.raises(ValueError, match=says):
        AccessControl.of(Security.model_construct(**files))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no key", r"ours-client\.key: cannot be read: No such file"),
        ("garbage", "not a PEM certificate and its private key"),
        ("swapped", r"ours-client\.key: is not the private key of"),
        ("key alone", "set tls_cert too"),
        ("certificate alone", "set tls_key too"),
    ],
)
def test_client_rejects_unusable_files(
    own_authority: CertificateAuthority, foreign_authority: CertificateAuthority, how: str, says: str
) -> None:
    files = broken_files(own_authority.client(), how, foreign_authority)
    with pytest.raises(InvalidCredentials, match=says):
        Client("127.0.0.1:1", tls_ca=own_authority.file, **files)


def test_client_rejects_a_ca_file_without_certificate(own_authority: CertificateAuthority) -> None:
    with pytest.raises(InvalidCredentials, match="contains no PEM certificate"):
        Client("127.0.0.1:1", tls_ca=own_authority.server()["tls_key"])
