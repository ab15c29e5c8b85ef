"""The policy: which identity may do what on which cluster.

    rules:
    - identities: [token:adapter-eu]
      clusters: ["eu-*"]
      nodePools: ["*"]
      verbs: [push, decide, report]

What no rule permits is denied. `*` and `?` in patterns match any characters and one character; upper and
lower case differ.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import translate
from functools import partial
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator, Field, ValidationError
from tenure.process.configuration import ConfigurationError, Sections, find_problems, read_document
from tenure.process.values import ConfigSection
from tenure.server.listen_address import ListenError
from tenure.server.security.callers import Identity, PermissionDenied
from tenure.server.security.watched_files import WatchedFiles, check_mode
from tenure.server.shard import Shard
from tenure.wire.violations import quote_name


class Verb(StrEnum):
    """What a method does to a cluster. Every method of the service has one."""

    PUSH = "push"
    """Replace or change the state of a cluster."""
    DECIDE = "decide"
    """Decide on a cluster. A delta in the request requires PUSH as well."""
    SIMULATE = "simulate"
    """Simulate cycles on a cluster."""
    EXPLAIN = "explain"
    """Explain outcomes of a cluster."""
    REPORT = "report"
    """Report results of decisions on a cluster."""
    READ = "read"
    """Read the state of a cluster."""
    DESCRIBE = "describe"
    """Read version, profile and limits of the server, and list states to READ. Every rule permits it."""


_KINDS: Final = ("token:", "certificate:", "jwt:")


def _identity(value: str) -> str:
    kind, colon, name = value.partition(":")
    if f"{kind}{colon}" not in _KINDS or not name:
        raise ValueError("must be token:NAME, certificate:NAME or jwt:ISSUER/SUBJECT")
    if kind == "jwt" and not all(name.partition("/")):
        raise ValueError("must be jwt:ISSUER/SUBJECT, where ISSUER is a name in server.jwtIssuers")
    return value


def _verb(value: Verb) -> Verb:
    if value is Verb.DESCRIBE:
        raise ValueError("every rule permits describe; leave it out")
    return value


NonEmpty = Annotated[str, Field(min_length=1)]


class Rule(ConfigSection):
    """Permits verbs on clusters to identities."""

    identities: Annotated[list[Annotated[str, AfterValidator(_identity)]], Field(min_length=1)]
    clusters: Annotated[list[NonEmpty], Field(min_length=1)]
    """Patterns of cluster IDs."""
    node_pools: Annotated[list[str], Field(min_length=1)] = ["*"]
    """Patterns of node pools."""
    verbs: Annotated[list[Annotated[Verb, AfterValidator(_verb)]], Field(min_length=1)]


class PolicyDocument(ConfigSection):
    """The policy file."""

    rules: list[Rule]


_SECTIONS: Final[Sections] = {(): PolicyDocument, ("rules",): Rule}


class PolicyError(ListenError):
    """A policy file cannot be used. The message has the file and every error."""


class _Permission(NamedTuple):
    """One rule, ready to match."""

    key: str
    clusters: re.Pattern[str]
    node_pools: re.Pattern[str]
    verbs: frozenset[Verb]

    def missing(self, verb: Verb, shard: Shard) -> str:
        """Name of the first field that does not permit the verb; empty if all do."""
        if not self.clusters.fullmatch(shard.cluster_id):
            return "clusters"
        if not self.node_pools.fullmatch(shard.node_pool):
            return "nodePools"
        return "" if verb in self.verbs else "verbs"


class Policy:
    """The rules of a file, by identity."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._permissions: dict[str, list[_Permission]] = defaultdict(list)
        for number, rule in enumerate(rules):
            permission = _Permission(
                f"rules[{number}]", _any_of(rule.clusters), _any_of(rule.node_pools), frozenset(rule.verbs)
            )
            for identity in rule.identities:
                self._permissions[identity].append(permission)

    def judge(self, identity: Identity, verb: Verb, shard: Shard | None) -> None:
        """Raise PermissionDenied if no rule permits the verb on a cluster; None: on any cluster.

        The message names the identity, the verb and the cluster of the request, and the key to change. It
        depends on nothing else, so it says nothing about other clusters or other callers.
        """
        own = [each for name in identity.names for each in self._permissions.get(name, ())]
        if shard is None:
            if any(verb in permission.verbs or verb is Verb.DESCRIBE for permission in own):
                return
            key = f"{own[0].key}.verbs" if own else "rules"
            raise PermissionDenied(_denial(identity, verb, "", key), None)
        nearest = "rules"
        for permission in own:
            missing = permission.missing(verb, shard)
            if not missing:
                return
            if nearest == "rules" or missing == "verbs":
                nearest = f"{permission.key}.{missing}"
        pool = f", node pool {quote_name(shard.node_pool)}" if shard.node_pool else ""
        raise PermissionDenied(
            _denial(identity, verb, f" on cluster {quote_name(shard.cluster_id)}{pool}", nearest), shard
        )


def _denial(identity: Identity, verb: Verb, where: str, key: str) -> str:
    return f"{quote_name(identity.name)} may not {verb}{where}: see {key} of the server's policy file"


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """Pattern for any of some shell patterns."""
    return re.compile("|".join(translate(pattern.replace("[", "[[]")) for pattern in patterns))


class PolicyFile:
    """The policy of a file, which follows the file. Raises PolicyError if it cannot be used at first."""

    def __init__(self, file: Path, *, allow_unsafe: bool = False) -> None:
        self.files = WatchedFiles("policy", [file], partial(_read, file, allow_unsafe))

    def judge(self, identity: Identity, verb: Verb, shard: Shard | None) -> None:
        """As Policy.judge, with the present rules."""
        self.files.latest().judge(identity, verb, shard)


def _read(file: Path, allow_unsafe: bool) -> Policy:
    if not allow_unsafe:
        check_mode(file)
    try:
        document = read_document(file)
    except ConfigurationError as error:
        raise PolicyError(str(error)) from None
    if not isinstance(document, dict):
        raise PolicyError(f"{file}: must be a mapping with the key rules")
    try:
        return Policy(PolicyDocument.model_validate(document).rules)
    except ValidationError as error:
        raise PolicyError(str(ConfigurationError(str(file), find_problems(error, _SECTIONS)))) from None
