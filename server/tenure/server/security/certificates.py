"""The server's certificate, private key and client CA, reloaded when their files change."""

import logging
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import grpc
from tenure.server.listen_address import ListenError

Stamp = tuple[tuple[int, int, int] | None, ...]
"""Identity of each file, which changes with its content; None for a missing file."""


def stamp(files: Sequence[Path]) -> Stamp:
    """Current identities of files. Follows links, so that swapping a mounted secret counts as a change."""
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


_LOG: Final = logging.getLogger(__name__)


class CertificateError(ListenError):
    """Files cannot be used for TLS. The message has the file and the fix."""


class CertificateFiles(NamedTuple):
    """PEM files. With `client_ca`, clients must present a certificate signed by it."""

    certificate: Path
    key: Path
    client_ca: Path | None

    def read(self) -> grpc.ServerCertificateConfiguration:
        """Read the files for gRPC. Raises CertificateError."""
        contents = self._contents()
        self._check()
        if self._contents() != contents:
            raise CertificateError(f"{self.certificate}: changed while being read")
        chain, key, *client_ca = contents
        return grpc.ssl_server_certificate_configuration([(key, chain)], client_ca[0] if client_ca else None)

    def present(self) -> Sequence[Path]:
        """Configured files."""
        return [file for file in self if file is not None]

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
        self._files = files
        self._seen = stamp(files.present())
        self._first = files.read()
        self._reading = threading.Lock()

    def credentials(self) -> grpc.ServerCredentials:
        """Credentials for a port of a gRPC server."""
        must_show = self._files.client_ca is not None
        return grpc.dynamic_ssl_server_credentials(
            self._first,
            self._newer,  # type: ignore[arg-type]  # the stubs do not know that None is "no change"
            must_show,
        )

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        """The certificates if their files changed since they were read; called at every handshake."""
        with self._reading:
            now = stamp(self._files.present())
            if now == self._seen:
                return None
            self._seen = now
            try:
                changed = self._files.read()
            except CertificateError as error:
                _LOG.error("Cannot load new certificates; keeping the previous ones: %s", error)
                return None
            _LOG.info("Loaded new certificates: %s", self._files.certificate)
            return changed


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
