"""What a resource claim requests, read once; fields that are not supported are refused by name."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tenure.kubernetes.devices.selectors import expression_of, length_of, selector_problem
from tenure.kubernetes.objects.device_claims import (
    DeviceConstraint,
    DeviceRequest,
    DeviceToleration,
    ExactRequest,
    ResourceClaim,
)
from tenure.kubernetes.objects.devices import DeviceTaint

MAX_LENGTH: Final = 8_192
"""Maximum length of all expressions of a claim."""
MAX_RESULTS: Final = 32
"""Maximum number of devices of a claim."""
_EXACT: Final = "ExactCount"
_EXISTS: Final = "Exists"
_NO_EFFECT: Final = "None"


class UnsupportedClaim(Exception):
    """A claim has a field that is not supported; the text begins with the field."""


class Tolerated(NamedTuple):
    """Taints of devices that a request tolerates."""

    key: str
    value: str | None
    """None: all values."""
    effect: str
    """Empty: all effects."""

    def covers(self, taint: DeviceTaint) -> bool:
        """Whether it tolerates a taint."""
        return (
            self.key in ("", taint.key)
            and self.value in (None, taint.value)
            and self.effect in ("", taint.effect)
        )


ALL_TAINTS: Final = (Tolerated("", None, ""),)


class Kind(NamedTuple):
    """Which devices fit: those of a class that all expressions select, and whose taints are tolerated."""

    device_class: str
    expressions: tuple[str, ...]
    tolerations: tuple[Tolerated, ...]

    def tolerates(self, taints: Iterable[DeviceTaint]) -> bool:
        """Whether no taint keeps it from a device."""
        return all(
            taint.effect == _NO_EFFECT or any(one.covers(taint) for one in self.tolerations)
            for taint in taints
        )


class Alternative(NamedTuple):
    """A number of devices of a kind. `name` is that of the request, or REQUEST/SUBREQUEST."""

    name: str
    kind: Kind
    amount: int


class Request(NamedTuple):
    """Alternatives, the most wanted one first."""

    name: str
    alternatives: tuple[Alternative, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The alternative kinds of devices."""
        return tuple(dict.fromkeys(one.kind for one in self.alternatives))


class Constraint(NamedTuple):
    """All devices of these requests must have one value of an attribute; without requests, those of all."""

    requests: frozenset[str]
    attribute: str

    def concerns(self, request: str) -> bool:
        """Whether it is about a request or subrequest."""
        return not self.requests or not self.requests.isdisjoint((request, request.partition("/")[0]))


class ClaimNeeds(NamedTuple):
    """All that must be allocated for a claim together."""

    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]


def read_needs(claim: ResourceClaim) -> ClaimNeeds:
    """Read the spec of a claim. Raises UnsupportedClaim."""
    devices = claim.spec.devices
    if not devices.requests:
        raise UnsupportedClaim("spec.devices.requests is empty, which is not supported")
    if sum(map(_length, devices.requests)) > MAX_LENGTH:
        raise UnsupportedClaim(
            f"spec.devices.requests have selectors with more than {MAX_LENGTH:,} characters, which is not "
            "supported"
        )
    requests = tuple(
        _request(f"spec.devices.requests[{at}]", request) for at, request in enumerate(devices.requests)
    )
    if sum(min(one.amount for one in request.alternatives) for request in requests) > MAX_RESULTS:
        raise UnsupportedClaim(f"spec.devices.requests ask for more than {MAX_RESULTS} devices")
    constraints = tuple(
        _constraint(f"spec.devices.constraints[{at}]", one) for at, one in enumerate(devices.constraints)
    )
    return ClaimNeeds(requests, constraints)


def _length(request: DeviceRequest) -> int:
    """Length of all expressions of a request."""
    exact = [request.exactly] if request.exactly is not None else []
    return sum(length_of(one.selectors) for one in (*exact, *request.first_available))


def _request(path: str, request: DeviceRequest) -> Request:
    if request.first_available:
        subs = enumerate(request.first_available)
        found = [
            _alternative(f"{path}.firstAvailable[{at}]", f"{request.name}/{sub.name}", sub)
            for at, sub in subs
        ]
        return Request(request.name, tuple(found))
    if request.exactly is None:
        raise UnsupportedClaim(f"{path} has neither exactly nor firstAvailable, which is not supported")
    return Request(request.name, (_alternative(f"{path}.exactly", request.name, request.exactly),))


def _alternative(path: str, name: str, exact: ExactRequest) -> Alternative:
    if exact.admin_access:
        raise UnsupportedClaim(f"{path}.adminAccess is not supported")
    if exact.capacity is not None:
        raise UnsupportedClaim(f"{path}.capacity is not supported")
    if exact.derived_attributes:
        raise UnsupportedClaim(f"{path}.derivedAttributes is not supported")
    if (exact.allocation_mode or _EXACT) != _EXACT:
        raise UnsupportedClaim(f"{path}.allocationMode {exact.allocation_mode} is not supported")
    if not exact.device_class_name:
        raise UnsupportedClaim(f"{path}.deviceClassName is missing")
    if problem := selector_problem(exact.selectors):
        raise UnsupportedClaim(f"{path}.{problem}")
    expressions = tuple(expression_of(one) for one in exact.selectors)
    tolerations = tuple(sorted({_tolerated(one) for one in exact.tolerations}, key=repr))
    return Alternative(name, Kind(exact.device_class_name, expressions, tolerations), max(exact.count, 1))


def _constraint(path: str, one: DeviceConstraint) -> Constraint:
    if not one.match_attribute:
        field = ".distinctAttribute" if one.distinct_attribute else ""
        raise UnsupportedClaim(f"{path}{field} is not supported")
    return Constraint(frozenset(one.requests), one.match_attribute)


def _tolerated(one: DeviceToleration) -> Tolerated:
    return Tolerated(one.key, None if one.operator == _EXISTS else one.value, one.effect)
