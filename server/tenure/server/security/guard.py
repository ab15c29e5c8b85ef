"""Who may call a server, and over what: what its settings come to."""

from dataclasses import dataclass
from typing import Final

import grpc
from tenure.server.listening import ListenError
from tenure.server.security.authentication import Authentication
from tenure.server.security.certificates import CertificateFiles, Certificates
from tenure.server.security.tokens import Tokens
from tenure.server.settings import Security


@dataclass(frozen=True)
class Guard:
    """Certificates and tokens of a server; without them anybody may call in clear text."""

    certificates: Certificates | None = None
    tokens: Tokens | None = None

    @classmethod
    def of(cls, security: Security) -> "Guard":
        """Read the files that the settings name. Raises ListenError when they cannot be used."""
        certificates = _certificates(security)
        return cls(certificates, None if security.token_file is None else Tokens(security.token_file))

    def interceptors(self) -> list["grpc.ServerInterceptor"]:  # type: ignore[type-arg]
        """What every call goes through first."""
        return [] if self.tokens is None else [Authentication(self.tokens)]

    def add_port(self, server: grpc.Server, address: str) -> int:
        """Let a server listen; the port that was bound. Raises RuntimeError when it cannot be."""
        if self.certificates is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, self.certificates.credentials())


def _certificates(security: Security) -> Certificates | None:
    certificate, key = security.tls_cert, security.tls_key
    if certificate is None and key is None:
        if security.tls_client_ca is not None:
            raise ListenError("a CA of clients is of use with TLS only: add --tls-cert and --tls-key")
        return None
    if certificate is None or key is None:
        missing = "--tls-key" if key is None else "--tls-cert"
        raise ListenError(f"TLS needs a certificate and its key: add {missing}")
    return Certificates(CertificateFiles(certificate, key, security.tls_client_ca))


OPEN: Final = Guard()
"""Nobody is asked who they are, and calls are in clear text."""
