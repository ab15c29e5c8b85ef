"""Certificates and tokens in files, created for one test."""

from pathlib import Path
from typing import Any

import trustme

TOKEN = "a-token-that-is-long-enough"
OTHER_TOKEN = "another-token-of-some-length"


class CertificateAuthority:
    """A CA that signs certificates of the server and of clients, and writes them to a folder."""

    def __init__(self, folder: Path, name: str = "ours") -> None:
        self._authority = trustme.CA()
        self._folder, self._name = folder, name
        self.file = folder / f"{name}-ca.pem"
        self._authority.cert_pem.write_to_path(str(self.file))

    def server(self, host: str = "127.0.0.1") -> dict[str, Path]:
        """Write a certificate for a host and its key; return them as settings of a server.

        Existing files are replaced.
        """
        return self._issued((host,), "server")

    def client(self, *names: str, **options: Any) -> dict[str, Path]:
        """Write a client certificate and its key; return them as arguments of a client."""
        return self._issued(names or ("caller@example.com",), "client", **options)

    def _issued(self, names: tuple[str, ...], role: str, **options: Any) -> dict[str, Path]:
        issued = self._authority.issue_cert(*names, **options)
        certificate, key = (self._folder / f"{self._name}-{role}.{kind}" for kind in ("pem", "key"))
        issued.cert_chain_pems[0].write_to_path(str(certificate))
        key.touch(0o600)
        issued.private_key_pem.write_to_path(str(key))
        return {"tls_cert": certificate, "tls_key": key}


def token_file(folder: Path, *lines: str) -> Path:
    """Write a file with these lines."""
    file = folder / "tokens"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file
