"""The server's certificate, its key, and who signs those of clients: read, checked, and read again.

Whether files changed since they were last read.
"""

import logging
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import grpc
from tenure.server.listen_address import ListenError

Stamp = tuple[tuple[int, int, int] | None, ...]
"""For every file what changes when its content does; None for one that is not there."""


def stamp(files: Sequence[Path]) -> Stamp:
    """What the files are now. Follows links, so that a mounted secret that is swapped counts as changed."""
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


_LOG: Final = logging.getLogger(__name__)


class CertificateError(ListenError):
    """Files that cannot be used for TLS. Names the file and what to mend."""


class CertificateFiles(NamedTuple):
    """Files in PEM. With `client_ca` clients must show a certificate that it signed."""

    certificate: Path
    key: Path
    client_ca: Path | None

    def read(self) -> grpc.ServerCertificateConfiguration:
        """What gRPC makes of them. Raises CertificateError."""
        contents = self._contents()
        self._check()
        if self._contents() != contents:
            raise CertificateError(f"{self.certificate}: changed while it was read")
        chain, key, *client_ca = contents
        return grpc.ssl_server_certificate_configuration([(key, chain)], client_ca[0] if client_ca else None)

    def present(self) -> Sequence[Path]:
        """Those that were named."""
        return [file for file in self if file is not None]

    def _contents(self) -> list[bytes]:
        return [_content(file) for file in self.present()]

    def _check(self) -> None:
        """Whether key and certificate are such, and belong together: gRPC itself would not say."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise CertificateError(_pair_problem(self.certificate, self.key, error)) from None
        if self.client_ca is not None:
            check_authority(self.client_ca)


def check_authority(file: Path) -> None:
    """Refuse with CertificateError a file that holds no certificate."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except (ssl.SSLError, OSError, ValueError):
        raise CertificateError(f"{file}: holds no certificate in PEM") from None


class Certificates:
    """Certificates that follow their files: every handshake uses what they held last that could be used.

    Raises CertificateError when the files cannot be used to begin with. Later that is logged, once for every
    change, and the certificates from before stay in use.
    """

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._seen = stamp(files.present())
        self._first = files.read()
        self._reading = threading.Lock()

    def credentials(self) -> grpc.ServerCredentials:
        """For a port of a gRPC server."""
        must_show = self._files.client_ca is not None
        return grpc.dynamic_ssl_server_credentials(
            self._first,
            self._newer,  # type: ignore[arg-type]  # the stubs do not know that None is "no change"
            must_show,
        )

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        """The certificates, when the files changed since they were read; asked at every handshake."""
        with self._reading:
            now = stamp(self._files.present())
            if now == self._seen:
                return None
            self._seen = now
            try:
                changed = self._files.read()
            except CertificateError as error:
                _LOG.error("New certificates cannot be used, the old ones stay: %s", error)
                return None
            _LOG.info("New certificates are in use: %s", self._files.certificate)
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
    return f"{certificate} and {key}: are not a certificate and its private key in PEM without a passphrase"
