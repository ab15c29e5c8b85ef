"""JWTs and key sets made in a test: valid ones, and forgeries."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

ISSUER: Final = "https://issuer.example.com"
AUDIENCE: Final = "tenure"
SUBJECT: Final = "system:serviceaccount:tenure-system:tenure"
IDENTITY: Final = f"jwt:eu/{SUBJECT}"


class SigningKey:
    """A private key with an ID, which signs tokens."""

    def __init__(self, key_id: str, key: Any = None, algorithm: str = "RS256") -> None:
        self.key_id = key_id
        self.key = key or rsa.generate_private_key(65_537, 2_048)
        self.algorithm = algorithm

    def public(self) -> dict[str, Any]:
        """Entry of a key set."""
        algorithm = jwt.get_algorithm_by_name(self.algorithm)
        found: dict[str, Any] = json.loads(algorithm.to_jwk(self.key.public_key()))
        found.pop("key_ops", None)
        return {**found, "kid": self.key_id, "use": "sig", "alg": self.algorithm}

    def pem(self) -> bytes:
        """Public key as text."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return bytes(self.key.public_key().public_bytes(serialization.Encoding.PEM, form))

    def token(self, seconds: float = 600, header: dict[str, Any] | None = None, **changed: Any) -> str:
        """Token that is valid for a number of seconds; `None` removes a claim."""
        return jwt.encode(
            claims(seconds, **changed), self.key, self.algorithm, {"kid": self.key_id, **(header or {})}
        )


def claims(seconds: float = 600, **changed: Any) -> dict[str, Any]:
    """Claims of a valid token, with changes."""
    now = time.time()
    whole = {
        "iss": ISSUER,
        "aud": [AUDIENCE],
        "sub": SUBJECT,
        "iat": int(now),
        "exp": now + seconds,
        **changed,
    }
    return {name: value for name, value in whole.items() if value is not None}


def key_set(*keys: SigningKey) -> str:
    """A JSON Web Key Set."""
    return json.dumps({"keys": [key.public() for key in keys]})


def elliptic(key_id: str) -> SigningKey:
    """A key for ES256."""
    return SigningKey(key_id, ec.generate_private_key(ec.SECP256R1()), "ES256")


def edwards(key_id: str) -> SigningKey:
    """A key for EdDSA."""
    return SigningKey(key_id, ed25519.Ed25519PrivateKey.generate(), "EdDSA")


def part(content: object) -> str:
    """Part of a token."""
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


class KeyServer:
    """Serves a key set at an address, and counts the requests."""

    def __init__(self) -> None:
        self.content = "{}"
        self.status, self.headers = 200, {"Content-Type": "application/json"}
        self.requests: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append({"path": self.path, **dict(self.headers.items())})
                self.send_response(outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(outer.content.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}/keys"

    @contextmanager
    def running(self) -> Iterator["KeyServer"]:
        """Serve within the block."""
        thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()
