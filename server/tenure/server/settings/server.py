"""The sections `server` and `records` of the configuration file."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, create_model
from tenure.process.values import (
    Address,
    AtLeastOne,
    ConfigSection,
    Duration,
    PositiveDuration,
    parse_empty_section,
)
from tenure.terms.durations import SECOND
from tenure.wire.row_limits import DEFAULT_MAX_ROWS

_DAY = 86_400 * SECOND


class RecordSettings(ConfigSection):
    """Recording of decisions. Times in nanoseconds."""

    enabled: bool = True
    """Whether decisions are recorded."""
    path: Path | None = None
    """Records file. None: `records.sqlite` in the platform's state directory of the user."""
    max_age: PositiveDuration = 7 * _DAY
    """Age at which records are dropped."""
    max_mib: AtLeastOne = 512
    """Maximum size of the file, in MiB; the oldest records of the caller with the most are dropped first."""

    def with_overrides(self, path: Path | None, *, is_off: bool) -> "RecordSettings":
        """Replace the file, which turns recording on, or turn recording off."""
        if is_off:
            return self.model_copy(update={"enabled": False})
        return self if path is None else self.model_copy(update={"enabled": True, "path": path})


if TYPE_CHECKING:
    _Lists = ConfigSection
else:
    _Lists = create_model(
        "_Lists",
        __base__=ConfigSection,
        **{name: (AtLeastOne, most) for name, most in DEFAULT_MAX_ROWS.items()},
    )


class MaxRows(_Lists):
    """Maximum number of rows of a request or a pushed state, by list. Excess is RESOURCE_EXHAUSTED.

    Implements RowLimits. The schema of the contract has the lists and their defaults.
    """

    pods: AtLeastOne = DEFAULT_MAX_ROWS["pods"]
    """Separately for `pods` and for `pod_columns`."""
    elements: AtLeastOne = DEFAULT_MAX_ROWS["elements"]
    """Entries of all lists and maps within rows, and in the rest of a request, together."""

    def of(self, name: str) -> int:
        """Limit of a list, or of `elements`."""
        return int(getattr(self, name))


DEFAULT_ROWS: Final = MaxRows()


class ServerLimits(ConfigSection):
    """Limits of the server. Times in nanoseconds."""

    max_message_mib: Annotated[int, Field(ge=1, le=1024)] = 64
    """Largest request, in MiB. Excess is RESOURCE_EXHAUSTED."""
    max_chunk_mib: Annotated[int, Field(ge=1, le=1024)] = 1
    """Largest chunk of PutSnapshot, in MiB."""
    max_rows: Annotated[MaxRows, BeforeValidator(parse_empty_section)] = DEFAULT_ROWS
    """Maximum number of rows of a request and of a pushed state, by list. Excess is RESOURCE_EXHAUSTED."""
    max_name_length: AtLeastOne = 253
    """Maximum length of a name or uid, in characters. Excess is INVALID_ARGUMENT."""
    max_text_length: AtLeastOne = 4_096
    """Maximum length of other text, in characters. Excess is INVALID_ARGUMENT."""
    max_states: AtLeastOne = 32
    """Maximum number of cached states; the least recently used is dropped first."""
    max_state_mib: AtLeastOne = 1_024
    """Maximum memory of all cached states, in MiB, at most half of `maxMemoryMib`; the least recently used
    rests or is dropped first.
    """
    max_memory_mib: AtLeastOne | None = None
    """Memory that the process may use, in MiB. None: the limit of the container, else of the machine."""
    state_idle_timeout: PositiveDuration = 3_600 * SECOND
    """Idle time after which a state is dropped."""
    max_staleness: PositiveDuration | None = None
    """Maximum age of a state by the server's clock; an older one is rejected. None: any age."""
    max_concurrent_cycles: AtLeastOne = max(2, os.cpu_count() or 1)
    """Maximum number of concurrent cycles of different shards; each shard has one at a time."""
    solver_host: Literal["thread", "process"] = "thread"
    """Where cycles run: in a thread of the server, or in a supervised process."""
    max_queued_calls: AtLeastOne = 16
    """Maximum number of calls that wait for a cycle. Excess is RESOURCE_EXHAUSTED; callers may retry."""
    max_streams: AtLeastOne = 64
    """Maximum number of open streams. Excess is RESOURCE_EXHAUSTED, which callers may retry."""
    stream_idle_timeout: PositiveDuration = 300 * SECOND
    """Idle time after which a stream is closed."""
    drain_timeout: Duration = 20 * SECOND
    """Time for calls in flight to finish after SIGTERM."""


def _key_source(value: str) -> str:
    parts = urlsplit(value)
    if "://" not in value:
        return value
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise ValueError("must be a file, or an address such as https://issuer.example.com/keys")
    return value


class JwtIssuer(ConfigSection):
    """An issuer of JWTs: an OIDC provider, or the service accounts of a Kubernetes cluster."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", max_length=63)]
    """Name in identities: `jwt:NAME/SUBJECT`."""
    issuer: Annotated[str, Field(min_length=1)]
    """Required claim `iss`."""
    audience: Annotated[str, Field(min_length=1)]
    """Required among the claims `aud`."""
    keys: Annotated[str, AfterValidator(_key_source)]
    """JSON Web Key Set: a file, or an https address, which is read every 5 minutes."""
    keys_ca: Path | None = None
    """PEM file with the CA of the address. None: the CAs of the system."""
    keys_token_file: Path | None = None
    """File of a token to send to the address. None: none."""

    @property
    def has_address(self) -> bool:
        """Whether the keys are at an address."""
        return "://" in self.keys


def _distinct(issuers: tuple[JwtIssuer, ...]) -> tuple[JwtIssuer, ...]:
    for field in ("name", "issuer"):
        values = [getattr(each, field) for each in issuers]
        if len(set(values)) < len(values):
            raise ValueError(f"two issuers have the same {field}")
    return issuers


class Security(ConfigSection):
    """Authentication, authorization and encryption. Files are reloaded when they change."""

    tls_cert: Path | None = None
    """PEM file with the server's certificate chain. Enables TLS, together with `tlsKey`."""
    tls_key: Path | None = None
    """PEM file with the private key, without a passphrase."""
    tls_client_ca: Path | None = None
    """PEM file with the client CA. Requires every client to present a certificate signed by it."""
    token_file: Path | None = None
    """File of tokens; every call must carry one. None: no token is required."""
    jwt_issuers: Annotated[tuple[JwtIssuer, ...], AfterValidator(_distinct)] = ()
    """Issuers whose JWTs are accepted as tokens."""
    policy_file: Path | None = None
    """File of rules that permit verbs on clusters. None: every caller may call every method."""
    audit_file: Path | None = None
    """File to which a line is appended for every call. None: none."""
    audit_max_mib: Annotated[int, Field(ge=1, le=1_048_576)] = 100
    """Size at which an audit file is full, in MiB: it is renamed, and a new one continues it."""
    audit_kept_files: Annotated[int, Field(ge=1)] | None = None
    """Full audit files to keep; the oldest are deleted. None: all of them."""
    allow_unsafe_files: bool = False
    """Whether files of keys, tokens and rules may be writable by other users, and private keys readable."""
    health_listen: Address | None = None
    """Additional HOST:PORT, in plaintext and without authentication, that serves health only. None: none."""

    def with_overrides(self, other: "Security") -> "Security":
        """Use the files that `other` sets, else the own ones."""
        named = {name: file for name, file in other if name in other.model_fields_set and file is not None}
        return self.model_copy(update=named)


class ServerSection(ServerLimits, Security):
    """The complete section."""

    def limits(self) -> ServerLimits:
        """Limits part of the section."""
        return ServerLimits.model_construct(**_of(ServerLimits, self))

    def security(self) -> Security:
        """Security part of the section."""
        return Security.model_construct(**_of(Security, self))


def _of(part: type[ConfigSection], whole: ConfigSection) -> dict[str, Any]:
    """Values of one part of a section, which are valid already."""
    return {name: getattr(whole, name) for name in part.model_fields}
