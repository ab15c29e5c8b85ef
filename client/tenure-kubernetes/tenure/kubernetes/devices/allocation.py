"""Choice of devices for claims on one node: exact, and bounded by steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tenure.kubernetes.devices.inventory import DeviceId, OfferedDevice
from tenure.kubernetes.devices.requests import Alternative, ClaimNeeds, Constraint, Kind, Request

MAX_STEPS: Final = 20_000
"""Maximum number of devices that are tried for one node."""


class ChosenDevice(NamedTuple):
    """A device for a request; `alternative` has the name of the request or subrequest."""

    alternative: Alternative
    device: DeviceId


class _TooManySteps(Exception):
    pass


class _Open(NamedTuple):
    """A request of a claim that has no devices yet."""

    claim: str
    request: Request
    constraints: tuple[Constraint, ...]


class DeviceChoice:
    """Chooses among the free devices of a node. `rivals` is the number of sets that want a device."""

    def __init__(
        self,
        free: Sequence[OfferedDevice],
        fits: Callable[[Kind, OfferedDevice], bool],
        rivals: Callable[[DeviceId], int],
    ) -> None:
        self._free = sorted(free, key=lambda device: (rivals(device.id), device.id))
        self._fits = fits
        self._candidates: dict[Kind, list[OfferedDevice]] = {}
        self._taken: set[DeviceId] = set()
        self._values: dict[tuple[str, Constraint], list[Any]] = {}
        self._chosen: dict[str, list[ChosenDevice]] = {}
        self._steps = 0

    def choose(self, claims: Mapping[str, ClaimNeeds]) -> dict[str, list[ChosenDevice]] | None:
        """Devices for all claims, by uid of a claim; None: there are not enough, or too many ways."""
        requests = [
            _Open(uid, request, needs.constraints)
            for uid, needs in sorted(claims.items())
            for request in needs.requests
        ]
        requests.sort(key=lambda one: self._choices(one.request))
        self._chosen = {uid: [] for uid in claims}
        try:
            return self._chosen if self._fill(requests) else None
        except _TooManySteps:
            return None

    def _choices(self, request: Request) -> int:
        """Number of devices that fit a request."""
        return sum(len(self._fitting(one.kind)) for one in request.alternatives)

    def _fitting(self, kind: Kind) -> list[OfferedDevice]:
        if kind not in self._candidates:
            self._candidates[kind] = [device for device in self._free if self._fits(kind, device)]
        return self._candidates[kind]

    def _fill(self, left: Sequence[_Open]) -> bool:
        if not left:
            return True
        return any(self._take(left[0], one, one.amount, 0, left[1:]) for one in left[0].request.alternatives)

    def _take(self, open: _Open, one: Alternative, count: int, start: int, rest: Sequence[_Open]) -> bool:
        """Take further devices for a request, in order, and then those for the rest."""
        if not count:
            return self._fill(rest)
        candidates = self._fitting(one.kind)
        for at in range(start, len(candidates) - count + 1):
            device = candidates[at]
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise _TooManySteps
            if device.id in self._taken:
                continue
            bound = self._bind_values(open, one, device)
            if bound is None:
                continue
            self._taken.add(device.id)
            self._chosen[open.claim].append(ChosenDevice(one, device.id))
            if self._take(open, one, count - 1, at + 1, rest):
                return True
            self._chosen[open.claim].pop()
            self._taken.discard(device.id)
            for key in bound:
                self._values[key].pop()
        return False

    def _bind_values(
        self, open: _Open, one: Alternative, device: OfferedDevice
    ) -> list[tuple[str, Constraint]] | None:
        """Note the values of a device for the constraints of its claim; None: one of them is broken."""
        concerned = [
            (open.claim, constraint) for constraint in open.constraints if constraint.concerns(one.name)
        ]
        for key in concerned:
            value, values = device.attributes.get(key[1].attribute), self._values.get(key)
            if value is None or (values and values[-1] != value):
                return None
        for key in concerned:
            self._values.setdefault(key, []).append(device.attributes[key[1].attribute])
        return concerned
