"""The rows of the matrix: what fails, and at which points of the story."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from tests.kube.faults.deaths import (
    AdapterKilled,
    ApiServerRestarted,
    LeaderPaused,
    OutOfReach,
    Paused,
    PodMadeAnew,
    ServiceKilled,
)
from tests.kube.faults.proxy import Fault
from tests.kube.faults.trouble import (
    AnswersLost,
    Refused,
    Slow,
    WatchesCut,
    WatchesExpired,
    any_eviction,
    evictions,
    status,
    writes,
)

HOUR: Final = 3600.0
_FOREVER: Final = 1_000
_CONFLICT: Final = status(409, "the object has been modified")
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_BUDGET: Final = status(429, _VIOLATED)
_LATER: Final = status(429, _VIOLATED, **{"Retry-After": "1"})
_SEVERAL: Final = status(500, "This pod has more than one PodDisruptionBudget, which is not supported.")


class Case(NamedTuple):
    """One run of the story with faults. Lease and patience are in seconds."""

    row: str
    point: str
    faults: Callable[[], list[Fault]]
    patience: float = 45.0
    lease: float = 3.0
    adapters: int = 1
    clock_offset: float = 0.0

    @property
    def name(self) -> str:
        """Of the run."""
        return f"{self.row}, {self.point}" if self.point else self.row


def _at(row: str, points: Iterable[int], fault: Callable[[int], Fault], **more: Any) -> Iterator[Case]:
    for point in points:
        yield Case(row, f"call {point}", lambda point=point: [fault(point)], **more)  # type: ignore[misc]


def _one(row: str, *faults: Callable[[], Fault], **more: Any) -> Case:
    return Case(row, "", lambda: [make() for make in faults], **more)


def short() -> list[Case]:
    """What the suite plays: every row at a few points, as short as may be."""
    return [
        *_at("adapter killed before a call", [37], AdapterKilled),
        *_at("adapter killed after a call", [40], lambda at: AdapterKilled(at, after=True)),
        *_at("service killed", [50], ServiceKilled),
        *_at("service away", [45], lambda at: ServiceKilled(at, away=5)),
        *_at("API server restarted", [44], ApiServerRestarted),
        *_at("etcd paused", [44], lambda at: Paused(at, _etcd, 4)),
        *_at("API server out of reach", [60], lambda at: OutOfReach(at, 5)),
        *_at("two adapters, one paused", [14], lambda at: LeaderPaused(at, 8), adapters=2),
        *_at("pod made anew under its name", [6], PodMadeAnew),
        *_at("successor an hour ahead", [30], lambda at: AdapterKilled(at, clock_offset=HOUR)),
        _one("clock an hour behind", clock_offset=-HOUR),
        _one("slow API server", lambda: Slow(0.3), patience=200.0, lease=5.0),
        _one("429 with Retry-After", lambda: Refused(_LATER, any_eviction, 1, _FOREVER), patience=90.0),
        *_lasting(),
    ]


def full() -> list[Case]:
    """What the check `faults` plays: as many points of the story as it has, and longer."""
    return [
        *_at("adapter killed before a call", range(2, 132, 4), AdapterKilled),
        *_at("adapter killed after a call", range(4, 132, 4), lambda at: AdapterKilled(at, after=True)),
        *_at("service killed", range(20, 132, 11), lambda at: ServiceKilled(at, delay=(at % 7) / 100)),
        *_at("service away", [45], lambda at: ServiceKilled(at, away=60), patience=100.0),
        *_at("API server restarted", (18, 44, 75, 100, 120), ApiServerRestarted),
        *_at("API server paused", (44, 100), lambda at: Paused(at, _api_server, 5)),
        *_at("etcd paused", (18, 44, 75, 100, 120), lambda at: Paused(at, _etcd, 5)),
        *_at("API server out of reach", [60], lambda at: OutOfReach(at, 60), patience=150.0),
        *_at("two adapters, one paused", range(3, 90, 6), lambda at: LeaderPaused(at, 10), adapters=2),
        *_at("pod made anew under its name", range(1, 9), PodMadeAnew),
        *_at("successor an hour ahead", (30, 70, 110), lambda at: AdapterKilled(at, clock_offset=HOUR)),
        *_at("successor an hour behind", (30, 70, 110), lambda at: AdapterKilled(at, clock_offset=-HOUR)),
        _one("clock an hour ahead", clock_offset=HOUR),
        _one("clock an hour behind", clock_offset=-HOUR),
        _one("slow API server", lambda: Slow(2.0), patience=200.0, lease=15.0),
        _one("429 with Retry-After", lambda: Refused(_LATER, evictions, 1, _FOREVER), patience=90.0),
        _one("429 without Retry-After", lambda: Refused(_BUDGET, evictions, 1, _FOREVER), patience=90.0),
        _one("500, several budgets", lambda: Refused(_SEVERAL, any_eviction, 1, _FOREVER), patience=150.0),
        *_lasting(),
    ]


def _lasting() -> list[Case]:
    """Rows that are the same in both: what lasts for a whole run, and does not make it long."""
    return [
        _one("every watch cut", WatchesCut),
        _one("every watch expired (410)", lambda: WatchesExpired(3)),
        _one("409 to every other write", lambda: Refused(_CONFLICT, writes, 1, 2), patience=90.0),
        _one("answer to every third write lost", lambda: AnswersLost(writes, 1, 3), patience=90.0),
    ]


def _etcd(run: Any, request: object) -> Any:
    return run.site.plane.etcd


def _api_server(run: Any, request: object) -> Any:
    return run.site.plane.api_server
