"""The rows of the matrix: faults, and the points of the story at which they strike."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from tests.kubernetes.fault_injection.lasting_faults import (
    CallsRejected,
    ResponsesLost,
    SlowCalls,
    WatchesCut,
    WatchesExpired,
    any_eviction,
    evictions,
    status,
    writes,
)
from tests.kubernetes.fault_injection.proxy import Fault
from tests.kubernetes.fault_injection.single_faults import (
    AdapterKilled,
    ApiServerRestarted,
    ApiServerUnreachable,
    LeaderPaused,
    PodRecreated,
    ProcessPaused,
    ServiceKilled,
)

HOUR: Final = 3600.0
_FOREVER: Final = 1_000
_CONFLICT: Final = status(409, "the object has been modified")
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_BUDGET: Final = status(429, _VIOLATED)
_RETRY_LATER: Final = status(429, _VIOLATED, **{"Retry-After": "1"})
_SEVERAL: Final = status(500, "This pod has more than one PodDisruptionBudget, which is not supported.")


class FaultCase(NamedTuple):
    """One run of the story with faults. Lease and patience are in seconds."""

    row: str
    point: str
    faults: Callable[[], list[Fault]]
    patience: float = 120.0
    lease: float = 3.0
    adapters: int = 1
    clock_offset: float = 0.0

    @property
    def name(self) -> str:
        """Name of the run."""
        return f"{self.row}, {self.point}" if self.point else self.row


def _at(row: str, points: Iterable[int], fault: Callable[[int], Fault], **more: Any) -> Iterator[FaultCase]:
    for point in points:
        yield FaultCase(row, f"call {point}", lambda point=point: [fault(point)], **more)  # type: ignore[misc]


def _single_point(row: str, *faults: Callable[[], Fault], **more: Any) -> FaultCase:
    return FaultCase(row, "", lambda: [make() for make in faults], **more)


def short_matrix() -> list[FaultCase]:
    """Cases of the test suite: every row at a few points, with short durations."""
    return [
        *_at("adapter killed before a call", [37], AdapterKilled),
        *_at("adapter killed after a call", [40], lambda at: AdapterKilled(at, after=True)),
        *_at("service killed", [50], ServiceKilled),
        *_at("service away", [45], lambda at: ServiceKilled(at, away=5)),
        *_at("API server restarted", [44], ApiServerRestarted),
        *_at("etcd paused", [44], lambda at: ProcessPaused(at, _etcd, 4)),
        *_at("API server out of reach", [60], lambda at: ApiServerUnreachable(at, 5)),
        *_at("two adapters, one paused", [14], lambda at: LeaderPaused(at, 8), adapters=2),
        *_at("pod made anew under its name", [6], PodRecreated),
        *_at("successor an hour ahead", [30], lambda at: AdapterKilled(at, clock_offset=HOUR)),
        _single_point("clock an hour behind", clock_offset=-HOUR),
        _single_point("slow API server", lambda: SlowCalls(0.3), patience=200.0, lease=5.0),
        _single_point(
            "429 with Retry-After",
            lambda: CallsRejected(_RETRY_LATER, any_eviction, 1, _FOREVER),
            patience=150.0,
        ),
        *_lasting(),
    ]


def full_matrix() -> list[FaultCase]:
    """Cases of the check `faults`: every row at points throughout the story, with longer durations."""
    return [
        *_at("adapter killed before a call", range(2, 132, 4), AdapterKilled),
        *_at("adapter killed after a call", range(4, 132, 4), lambda at: AdapterKilled(at, after=True)),
        *_at("service killed", range(20, 132, 11), lambda at: ServiceKilled(at, delay=(at % 7) / 100)),
        *_at("service away", [45], lambda at: ServiceKilled(at, away=60), patience=100.0),
        *_at("API server restarted", (18, 44, 75, 100, 120), ApiServerRestarted),
        *_at("API server paused", (44, 100), lambda at: ProcessPaused(at, _api_server, 5)),
        *_at("etcd paused", (18, 44, 75, 100, 120), lambda at: ProcessPaused(at, _etcd, 5)),
        *_at("API server out of reach", [60], lambda at: ApiServerUnreachable(at, 60), patience=150.0),
        *_at("two adapters, one paused", range(3, 90, 6), lambda at: LeaderPaused(at, 10), adapters=2),
        *_at("pod made anew under its name", range(1, 9), PodRecreated),
        *_at("successor an hour ahead", (30, 70, 110), lambda at: AdapterKilled(at, clock_offset=HOUR)),
        *_at("successor an hour behind", (30, 70, 110), lambda at: AdapterKilled(at, clock_offset=-HOUR)),
        _single_point("clock an hour ahead", clock_offset=HOUR),
        _single_point("clock an hour behind", clock_offset=-HOUR),
        _single_point("slow API server", lambda: SlowCalls(2.0), patience=200.0, lease=15.0),
        _single_point(
            "429 with Retry-After",
            lambda: CallsRejected(_RETRY_LATER, evictions, 1, _FOREVER),
            patience=150.0,
        ),
        _single_point(
            "429 without Retry-After", lambda: CallsRejected(_BUDGET, evictions, 1, _FOREVER), patience=150.0
        ),
        _single_point(
            "500, several budgets", lambda: CallsRejected(_SEVERAL, any_eviction, 1, _FOREVER), patience=150.0
        ),
        *_lasting(),
    ]


def _lasting() -> list[FaultCase]:
    """Rows of both matrices: faults that last for a whole run without prolonging it."""
    return [
        _single_point("every watch cut", WatchesCut),
        _single_point("every watch expired (410)", lambda: WatchesExpired(3)),
        _single_point(
            "409 to every other write", lambda: CallsRejected(_CONFLICT, writes, 1, 2), patience=150.0
        ),
        _single_point(
            "answer to every third write lost", lambda: ResponsesLost(writes, 1, 3), patience=150.0
        ),
    ]


def _etcd(run: Any, request: object) -> Any:
    return run.site.plane.etcd


def _api_server(run: Any, request: object) -> Any:
    return run.site.plane.api_server
