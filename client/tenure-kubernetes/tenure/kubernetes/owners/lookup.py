"""Top owners of pods, looked up when needed and cached.

Kinds of owners are not known in advance. The first owner of a kind lists the kind; later ones are read one by
one (`owner_lists`). One that is forbidden or invalid is retried: often for a minute, because permissions may
come late, then rarely. Meanwhile only its name is known.

Users of a namespace can make many pods that each name another owner. So an observation reads few owners of a
namespace one by one, then lists each kind there once. What is still unknown waits for the next observation.
"""

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.api.api_errors import ApiError, NotFound, RequestRejected
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects.meta import OwnerReference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.owners.chains import Owner, link_of, owner_of
from tenure.kubernetes.owners.kinds import OwnerKinds, built_in_kinds
from tenure.kubernetes.owners.owner_lists import MAX_CACHED, OwnerLists
from tenure.kubernetes.owners.owner_object import OwnerObject, kept_metadata, read_owner
from tenure.kubernetes.rows.row_table import readable

MAX_LEVELS: Final = 8
_MAX_READS: Final = 16
"""Calls in an observation for single owners of a namespace."""
_PATIENCE: Final = 60.0
_SOON: Final = 5.0
_SELDOM: Final = 180.0
"""Seconds before a rejected owner is read again: during `patience`, and later."""
_LONGEST_NAME: Final = 317
"""No name of an object or version is longer. A longer path would be refused, like its whole kind."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
VERSION: Final = re.compile(rf"{_NAME.pattern}(/v[a-z0-9]+)?")
"""A name, and a group with its version. Users write these, and they become parts of an API path.

A name with a slash would be a subresource: no role permits it, and the kind would count as forbidden.
"""
_POD: Final = ("v1", "Pod")
"""Version and kind of owners that are pods: leaders of their workers, drivers of their executors."""


class _InvalidOwner(ApiError):
    """An owner cannot be decoded."""


class _LaterOwner(ApiError):
    """An owner is looked up in a later observation."""


class Resource(msgspec.Struct):
    """A kind that an API server serves."""

    name: str = ""
    kind: str = ""
    namespaced: bool = True


class _Resources(msgspec.Struct):
    resources: list[Resource] = []


_RESOURCES: Final = msgspec.json.Decoder(_Resources)


def version_path(reference: OwnerReference) -> str:
    """Path of the version of an owner; "": no API server serves its version or name."""
    version = reference.api_version
    is_long = max(len(version), len(reference.name)) > _LONGEST_NAME
    if is_long or not (VERSION.fullmatch(version) and _NAME.fullmatch(reference.name)):
        return ""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def read_resources(transport: Transport, base: str) -> dict[str, Resource]:
    """Served kinds of a version, by name. Raises ApiError."""
    found = _RESOURCES.decode(transport.get(base)).resources
    return {one.kind: one for one in found if "/" not in one.name}


class _Refusal(NamedTuple):
    """A failed lookup. Times are of the monotonic clock, in seconds."""

    failure: ApiError
    since: float
    retry_at: float
    """When to retry."""


class ApiOwnerLookup:
    """Looks up owners at an API server. For one thread.

    A forbidden or invalid owner counts as not available for `patience` seconds.
    """

    def __init__(
        self,
        transport: Transport,
        patience: float = _PATIENCE,
        stopwatch: Callable[[], float] = time.monotonic,
        kinds: OwnerKinds | None = None,
        find_pod: Callable[[str], Pod | None] = lambda _: None,
    ) -> None:
        """`find_pod` finds a pod by its uid."""
        self.kinds = kinds or built_in_kinds()
        self._find_pod = find_pod
        self._transport, self._patience, self._stopwatch = transport, patience, stopwatch
        self._refusals: OrderedDict[tuple[str, ...], _Refusal] = OrderedDict()
        """By kind if the whole kind is forbidden, else by namespace and uid."""
        self._unread: OrderedDict[tuple[str, str], str] = OrderedDict()
        """Why chains of owners cannot be read to their end, by namespace and uid of their first owner."""
        self._lists = OwnerLists(transport, stopwatch)
        self._served: dict[str, dict[str, Resource]] = {}
        """Served kinds by path of their version."""
        self._refreshed: set[str] = set()
        """Versions whose kinds were asked for in this observation."""
        self._reads: Counter[str] = Counter()
        """Calls in this observation for single owners, by namespace."""
        self._listed_now: dict[tuple[str, str], bool] = {}
        """Whether a list of this observation is complete, by namespace and collection."""

    def begin(self) -> set[str]:
        """Begin an observation; return uids of owners that changed since they were looked up."""
        self._reads.clear()
        self._listed_now.clear()
        self._refreshed.clear()
        return self._lists.refresh()

    def wait(self) -> float | None:
        """Seconds until the next observation, to list owners again. None: no matter when."""
        return self._lists.wait()

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """The owner that pods with this owner are grouped by. None: not available for now, retry.

        Only the name is known of an owner that is gone, or in another namespace: such an owner does not own
        this pod. A cycle of owners ends where it begins again.
        """
        links, first = [link_of(self.kinds, namespace, reference)], (namespace, reference.uid)
        self._unread.pop(first, None)
        try:
            for number in range(MAX_LEVELS):
                above = self._find(namespace, reference)
                if above is None:
                    break
                link = link_of(self.kinds, namespace, reference, above)
                links[number:] = [link]
                parent = above.metadata.owner()
                if parent is None or any(parent.uid == one.metadata.uid for one in links):
                    break
                reference = parent
        except (RequestRejected, _InvalidOwner) as failure:
            refusal = self._refusal(namespace, reference)
            unread = self._unread[first] = _forbidden_owner(reference, failure)
            if len(self._unread) > MAX_CACHED:
                self._unread.popitem(last=False)
            is_new = refusal is None or self._stopwatch() - refusal.since < self._patience
            if is_new:
                return None
            warnings = () if _kind(reference) in self._refusals else (_unread_owner(reference, failure),)
            return owner_of(links)._replace(warnings=warnings, is_retried=True, unread=unread)
        except ApiError:
            return None
        return owner_of(links)

    def unread(self, namespace: str, reference: OwnerReference) -> str:
        """Why an owner or one above it could not be read; "": it could, or will be soon."""
        return self._unread.get((namespace, reference.uid), "")

    def refused_kinds(self) -> Mapping[str, str]:
        """Kinds that the API server refused to return, and why."""
        of_kinds = [(key, one) for key, one in self._refusals.items() if len(key) == _KIND_LENGTH]
        return {f"{kind} of {version}": str(one.failure) for (version, kind), one in of_kinds}

    def _find(self, namespace: str, reference: OwnerReference) -> OwnerObject | None:
        if (reference.api_version, reference.kind) == _POD:
            return self._pod(namespace, reference)
        known = self._lists.known
        if (key := self._lists.key(namespace, reference.uid)) is None:
            self._request(namespace, reference)
            key = self._lists.key(namespace, reference.uid) or (namespace, reference.uid)
        known.move_to_end(key)
        return known[key]

    def _pod(self, namespace: str, reference: OwnerReference) -> OwnerObject | None:
        """A pod as an owner. All pods are observed, so it is not read."""
        pod = self._find_pod(reference.uid)
        if pod is None or pod.metadata.namespace != namespace:
            return None
        return OwnerObject(kept_metadata(pod.metadata))

    def _request(self, namespace: str, reference: OwnerReference) -> None:
        """Read an owner, unless it was rejected recently. Raises ApiError."""
        refusal, now = self._refusal(namespace, reference), self._stopwatch()
        if refusal is not None and now < refusal.retry_at:
            raise refusal.failure
        try:
            self._look_up(namespace, reference)
        except NotFound:
            self._lists.put(namespace, reference.uid, None)
        except (RequestRejected, _InvalidOwner) as failure:
            since = refusal.since if refusal else now
            again = now + (_SOON if now - since < self._patience else _SELDOM)
            is_kind = isinstance(failure, RequestRejected)
            key = _kind(reference) if is_kind else _owner(namespace, reference)
            self._refusals[key] = _Refusal(failure, since, again)
            if len(self._refusals) > MAX_CACHED:
                self._refusals.popitem(last=False)
            raise
        for key in (_kind(reference), _owner(namespace, reference)):
            self._refusals.pop(key, None)

    def _refusal(self, namespace: str, reference: OwnerReference) -> _Refusal | None:
        of_kind = self._refusals.get(_kind(reference))
        return of_kind or self._refusals.get(_owner(namespace, reference))

    def _look_up(self, namespace: str, reference: OwnerReference) -> None:
        version, base = reference.api_version, version_path(reference)
        if not base:
            raise NotFound("the API server serves no such version or name")
        resource = self._resource(namespace, base, reference.kind)
        if resource is None:
            raise NotFound(f"{version} has no {reference.kind}")
        if not self._lists.has_listed(kind := f"{base}/{resource.name}"):
            self._count_read(namespace)
            self._lists.add_kind(kind, self.kinds.of(version, reference.kind))
        if self._lists.key(namespace, reference.uid) is None:
            within = f"/namespaces/{namespace}" if resource.namespaced else ""
            collection = f"{base}{within}/{resource.name}"
            if self._reads[namespace] < _MAX_READS:
                self._read_one(namespace, reference, collection)
            else:
                self._look_in_list(namespace, reference, collection)

    def _read_one(self, namespace: str, reference: OwnerReference, collection: str) -> None:
        self._count_read(namespace)
        row = self.kinds.of(reference.api_version, reference.kind)
        item = read_owner(self._transport.get(f"{collection}/{reference.name}"), row)
        if item is None:
            raise _InvalidOwner("the object is not an owner")
        self._lists.put(namespace, reference.uid, item if item.metadata.uid == reference.uid else None)

    def _look_in_list(self, namespace: str, reference: OwnerReference, collection: str) -> None:
        """List a collection, at most once in an observation. The pod exists, so an absent owner is gone."""
        if (namespace, collection) not in self._listed_now:
            self._listed_now[namespace, collection] = False
            self._listed_now[namespace, collection] = self._lists.read_all(
                collection, self.kinds.of(reference.api_version, reference.kind)
            )
        if self._lists.key(namespace, reference.uid) is None:
            if not self._listed_now[namespace, collection]:
                raise _LaterOwner(f"{collection} could not be read as a whole")
            raise NotFound(f"{collection} has no {reference.name} with this uid")

    def _count_read(self, namespace: str) -> None:
        """Count a call. Raises _LaterOwner after too many."""
        if self._reads[namespace] >= _MAX_READS:
            raise _LaterOwner(f"{_MAX_READS} calls were made for owners in {namespace}")
        self._reads[namespace] += 1

    def _resource(self, namespace: str, base: str, kind: str) -> Resource | None:
        """A served kind; None: it is not served. An unknown one is looked for again: it may be new."""
        if kind not in self._served.get(base, {}) and base not in self._refreshed:
            self._count_read(namespace)
            self._served[base] = read_resources(self._transport, base)
            self._refreshed.add(base)
        return self._served.get(base, {}).get(kind)


def _kind(reference: OwnerReference) -> tuple[str, ...]:
    return reference.api_version, reference.kind


_KIND_LENGTH: Final = 2
"""Parts of the key of a refused kind."""


def _owner(namespace: str, reference: OwnerReference) -> tuple[str, ...]:
    return namespace, *_kind(reference), reference.uid


def _forbidden_owner(reference: OwnerReference, failure: ApiError) -> str:
    """Why an owner is not read, and what helps."""
    group, slash, _ = reference.api_version.partition("/")
    kind = f"{reference.kind} of {group}" if slash else reference.kind
    return readable(
        f"its owner {reference.kind} {reference.name} cannot be read: {failure}; "
        f"permit the adapter to get and list kind {kind} (adapter.owners of the chart)"
    )


def _unread_owner(reference: OwnerReference, failure: ApiError) -> str:
    return f"only the name of its owner {reference.kind} {reference.name} is known: {failure}"
