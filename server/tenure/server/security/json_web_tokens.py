"""Callers with a JWT: of an OIDC provider, or of a Kubernetes service account.

A token is accepted with a signature by a key of its issuer, by an asymmetric algorithm, with the configured
issuer and audience, a subject, and an expiry in the future. Headers that name keys or addresses are ignored.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import jwt
from jwt.types import Options
from tenure.server.security.callers import Identity, NotAuthenticated
from tenure.server.security.signing_keys import SigningKeys, signing_keys
from tenure.server.security.tokens import digest_of
from tenure.server.settings import JwtIssuer

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Accepted algorithms. All are asymmetric, so that a public key never is a secret."""
MAX_LENGTH: Final = 16_384
_MAX_SUBJECT: Final = 253
_LEEWAY_SECONDS: Final = 60
"""Tolerated difference of clocks for the beginning of a token; there is none for its end."""
_LATEST: Final = 2**53
_MAX_CACHED: Final = 1_024
_OPTIONS: Final[Options] = {"require": ["exp", "iss", "aud", "sub"], "verify_exp": False}
"""The expiry is compared with the clock each time that a token is used."""
_UNVERIFIED: Final[Options] = {"verify_signature": False}


class _Issuer(NamedTuple):
    settings: JwtIssuer
    keys: SigningKeys


class VerifiedToken(NamedTuple):
    """A token with a valid signature."""

    identity: Identity
    expires_at: float
    """Seconds since the Unix epoch."""
    is_key_current: Callable[[], bool]

    def verify(self) -> None:
        """Raise NotAuthenticated if the token has expired, or its key was taken away."""
        if time.time() >= self.expires_at:
            raise NotAuthenticated("expired token", "the token has expired; send a new one")
        if not self.is_key_current():
            raise NotAuthenticated("unknown key", "the key of the token is no longer valid; send a new token")


def is_jwt(token: str) -> bool:
    """Whether a token has the form of a JWT."""
    return token.count(".") == 2


class JwtIssuers:
    """The configured issuers. Thread-safe. Raises KeySetError if keys cannot be used."""

    def __init__(self, issuers: Sequence[JwtIssuer], *, allow_unsafe: bool = False) -> None:
        self._issuers = {
            each.issuer: _Issuer(each, signing_keys(each, allow_unsafe=allow_unsafe)) for each in issuers
        }
        self._verified: OrderedDict[bytes, VerifiedToken] = OrderedDict()
        self._changing = threading.Lock()

    def identify(self, token: str) -> VerifiedToken:
        """Verify a token. Raises NotAuthenticated.

        Signatures of the latest tokens are not verified again.
        """
        if len(token) > MAX_LENGTH:
            raise NotAuthenticated("invalid token", f"the token is longer than {MAX_LENGTH:,} characters")
        digest = digest_of(token)
        with self._changing:
            found = self._verified.get(digest)
        if found is None:
            found = self._verify(token)
            with self._changing:
                self._verified[digest] = found
                if len(self._verified) > _MAX_CACHED:
                    self._verified.popitem(last=False)
        found.verify()
        return found

    def faults(self) -> dict[str, str]:
        """Why keys cannot be read at present, by what they are; empty if they can."""
        return {f"keys of {each.settings.name}": each.keys.fault for each in self._issuers.values()}

    def look(self) -> None:
        """Follow files that have changed."""
        for issuer in self._issuers.values():
            issuer.keys.look()

    def start(self) -> None:
        """Start to read addresses regularly."""
        for issuer in self._issuers.values():
            issuer.keys.start()

    def stop(self) -> None:
        """Stop to read them."""
        for issuer in self._issuers.values():
            issuer.keys.stop()

    def _verify(self, token: str) -> VerifiedToken:
        try:
            header, claims = jwt.get_unverified_header(token), jwt.decode(token, options=_UNVERIFIED)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise _invalid("cannot be parsed") from None
        issuer = self._issuers.get(issuing) if isinstance(issuing := claims.get("iss"), str) else None
        if issuer is None:
            raise NotAuthenticated(
                "unknown issuer", "the issuer of the token is not one of server.jwtIssuers"
            )
        if header.get("alg") not in ALGORITHMS:
            raise _invalid(f"must be signed with one of {', '.join(ALGORITHMS)}")
        if "crit" in header or header.get("b64") is False:
            raise _invalid("has header fields that are not supported")
        key_id = header.get("kid") or ""
        key = issuer.keys.find(key_id)
        if key is None:
            raise NotAuthenticated("unknown key", "the issuer of the token has no such key")
        claims = _claims(token, key, issuer.settings)
        subject = claims["sub"]
        if not 0 < len(subject) <= _MAX_SUBJECT or not subject.isprintable():
            raise _invalid(f"has a subject that is empty, longer than {_MAX_SUBJECT}, or not printable")
        return VerifiedToken(
            Identity("jwt", (f"jwt:{issuer.settings.name}/{subject}",)),
            _expiry(claims["exp"]),
            lambda: issuer.keys.is_current(key_id, key),
        )


def _claims(token: str, key: Any, issuer: JwtIssuer) -> dict[str, Any]:
    """Claims of a token whose signature, issuer, audience and beginning are valid."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            ALGORITHMS,
            _OPTIONS,
            audience=issuer.audience,
            issuer=issuer.issuer,
            leeway=_LEEWAY_SECONDS,
        )
    except jwt.InvalidAudienceError:
        raise NotAuthenticated("wrong audience", "the token is for another audience") from None
    except jwt.ImmatureSignatureError:
        raise NotAuthenticated("invalid token", "the token is not valid yet; check the clocks") from None
    except jwt.MissingRequiredClaimError as error:
        raise _invalid(f"has no claim {error.claim}") from None
    except (jwt.PyJWTError, ValueError, TypeError):
        raise NotAuthenticated("wrong signature", "the signature of the token is not valid") from None
    return claims


def _expiry(value: object) -> float:
    """Seconds since the Unix epoch; NaN, which is before and after nothing, would never pass."""
    if not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise _invalid("has a claim exp that is not a time")
    return float(value)


def _invalid(problem: str) -> NotAuthenticated:
    return NotAuthenticated("invalid token", f"the token {problem}")
