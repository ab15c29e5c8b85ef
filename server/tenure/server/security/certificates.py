"""Certificates: the files of the server, which are followed, and the identities of clients."""

import ssl
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import grpc
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from tenure.server.listen_address import ListenError
from tenure.server.security.callers import UNNAMED, Identity, NotAuthenticated
from tenure.server.security.watched_files import WatchedFiles, check_mode

Authorities = frozenset[x509.Certificate]


class CertificateError(ListenError):
    """Files cannot be used for TLS. The message has the file and the fix."""


class CertificateFiles(NamedTuple):
    """PEM files. With `client_ca`, clients must present a certificate signed by it."""

    certificate: Path
    key: Path
    client_ca: Path | None
    allow_unsafe: bool = False
    """Whether other users may change the files, or read the key."""

    def read(self) -> "TlsFiles":
        """Read the files. Raises CertificateError."""
        if not self.allow_unsafe:
            for file in self.present():
                check_mode(file, is_private_key=file == self.key)
        contents = self._contents()
        self._check()
        if self._contents() != contents:
            raise CertificateError(f"{self.certificate}: changed while being read")
        chain, key, *client_ca = contents
        used = grpc.ssl_server_certificate_configuration([(key, chain)], client_ca[0] if client_ca else None)
        return TlsFiles(used, _authorities(*client_ca))

    def present(self) -> Sequence[Path]:
        """Configured files."""
        return [file for file in self[:3] if file is not None]

    def _contents(self) -> list[bytes]:
        return [_content(file) for file in self.present()]

    def _check(self) -> None:
        """Verify that key and certificate are valid and match, which gRPC does not report."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise CertificateError(_pair_problem(self.certificate, self.key, error)) from None
        if self.client_ca is not None:
            check_authority(self.client_ca)


class TlsFiles(NamedTuple):
    """Contents of certificate files."""

    configuration: grpc.ServerCertificateConfiguration
    authorities: Authorities
    """Certificates of the client CA."""


def check_authority(file: Path) -> None:
    """Reject with CertificateError a file without a certificate."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except (ssl.SSLError, OSError, ValueError):
        raise CertificateError(f"{file}: contains no PEM certificate") from None


class Certificates:
    """Certificates that follow their files: every handshake uses the last valid contents.

    Raises CertificateError if the files are invalid at first. Later errors are logged once per change, and
    the previous certificates stay in use.
    """

    def __init__(self, files: CertificateFiles) -> None:
        self.files = WatchedFiles("certificates", files.present(), files.read)
        self.requires_clients = files.client_ca is not None
        """Whether every client must present a certificate of the client CA."""
        self._used = self.files.latest()
        self._seen = self._used.authorities
        """Client CAs of all contents of the file since the start."""
        self._reading = threading.Lock()

    def credentials(self) -> grpc.ServerCredentials:
        """Credentials for a port of a gRPC server."""
        return grpc.dynamic_ssl_server_credentials(
            self._used.configuration,
            self._newer,  # type: ignore[arg-type]  # the stubs do not know that None is "no change"
            self.requires_clients,
        )

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        """The certificates if their files changed since they were used; called at every handshake."""
        with self._reading:
            latest = self.files.latest()
            if latest is self._used:
                return None
            self._used = latest
            return latest.configuration

    def check_connection(self, connection: Mapping[str, Sequence[bytes]]) -> None:
        """Raise NotAuthenticated if the client CA of a connection was taken out of the file.

        TLS checks that only at the handshake.
        """
        authorities = self.files.latest().authorities
        if not authorities <= self._seen:
            self._seen |= authorities
        if not _is_withdrawn(connection[_CERTIFICATE][0], authorities, self._seen):
            return
        raise NotAuthenticated(
            "withdrawn client CA",
            "the CA of the client certificate was withdrawn; connect with a certificate of the new one",
        )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CertificateError(f"{file}: cannot be read: {error.strerror}") from None


def _pair_problem(certificate: Path, key: Path, error: Exception) -> str:
    reason = getattr(error, "reason", "")
    if reason == "KEY_VALUES_MISMATCH":
        return f"{key}: is not the private key of {certificate}"
    return f"{certificate} and {key}: not a PEM certificate and its private key without passphrase"


def _authorities(*client_ca: bytes) -> Authorities:
    """Certificates of a client CA, without those that only OpenSSL can read."""
    try:
        return frozenset(x509.load_pem_x509_certificates(b"".join(client_ca))) if client_ca else frozenset()
    except ValueError:
        return frozenset()


_NAMES: Final = "x509_subject_alternative_name"
_COMMON_NAME: Final = "x509_common_name"
_CERTIFICATE: Final = "x509_pem_cert"


def certificate_identity(connection: Mapping[str, Sequence[bytes]]) -> Identity:
    """Identity by gRPC's description of a connection with a client certificate.

    The names are the subject alternative names. The common name counts only if there are none, as in RFC
    6125: authorities verify the former, and often let the requester choose the latter.
    """
    names = connection.get(_NAMES) or connection.get(_COMMON_NAME) or ()
    texts = [name.decode("utf-8", "replace") for name in names if name]
    return Identity("certificate", tuple(f"certificate:{text}" for text in texts or [UNNAMED]))


def check_validity(connection: Mapping[str, Sequence[bytes]]) -> None:
    """Raise NotAuthenticated after the end of the certificate, which TLS checks only at the handshake."""
    if datetime.now(UTC) >= _end_of(connection[_CERTIFICATE][0]):
        raise NotAuthenticated(
            "expired certificate", "the client certificate has expired; connect with a new one"
        )


@lru_cache(maxsize=256)
def _end_of(pem: bytes) -> datetime:
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


@lru_cache(maxsize=256)
def _is_withdrawn(pem: bytes, authorities: Authorities, before: Authorities) -> bool:
    """Whether a certificate comes from an authority of before, and from no present one.

    gRPC does not tell the certificates between, so nothing is known of a certificate of an authority that is
    not in the file.
    """
    certificate = x509.load_pem_x509_certificate(pem)
    gone = any(_issued(certificate, each) for each in before - authorities)
    return gone and not any(_issued(certificate, each) for each in authorities)


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
