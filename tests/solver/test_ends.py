"""When running pod groups end (semantics R17.1, R17.2)."""

from typing import Final

import pytest
from tenure.solver.ends import end_of
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
BOUNDED, EXPECTED, ASSUMED = Certainty.BOUNDED, Certainty.EXPECTED, Certainty.ASSUMED
NONE: Final = (None, None, Certainty.UNKNOWN)


def cluster(own: dict[str, str], queue: dict[str, str] | None = None, started: str | None = "1h") -> Cluster:
    builder = ClusterBuilder().node("n", gpus=1).queue("q", **(queue or {}))  # type: ignore[arg-type]
    builder.running("p", queue="q", gpus=1, node="n", started_ago=started, **own)  # type: ignore[arg-type]
    return builder.build()


def end(case: Cluster) -> tuple[int | None, int | None, Certainty]:
    found = end_of(case.pod_groups[0], case.queues, case.now)
    return found.hard, found.likely, found.certainty


LIMIT_1H: Final = {"time_limit": "1h"}
LIMIT_3H: Final = {"time_limit": "3h"}
EXPECTED_2H: Final = {"expected_runtime": "2h"}
EXPECTED_30M: Final = {"expected_runtime": "30m"}


@pytest.mark.parametrize(
    ("own", "queue", "hard", "likely", "certainty"),
    [
        pytest.param({}, {}, *NONE, id="nothing is said"),
        pytest.param(LIMIT_3H, {}, 2, 2, BOUNDED, id="time limit"),
        pytest.param({}, LIMIT_3H, 2, 2, BOUNDED, id="time limit of the queue"),
        pytest.param({"time_limit": "4h"}, LIMIT_3H, 2, 2, BOUNDED, id="the queue caps it"),
        pytest.param(LIMIT_3H, {"time_limit": "4h"}, 2, 2, BOUNDED, id="its own is shorter"),
        pytest.param(LIMIT_3H, {"time_limit": "0s"}, 2, 2, BOUNDED, id="zero in the queue is no limit"),
        pytest.param({"time_limit": "0s"}, LIMIT_3H, 2, 2, BOUNDED, id="zero is no limit of its own"),
        pytest.param(EXPECTED_2H, {}, None, 1, EXPECTED, id="expected runtime"),
        pytest.param({}, EXPECTED_2H, None, 1, ASSUMED, id="expected runtime of the queue"),
        pytest.param(LIMIT_3H | EXPECTED_2H, {}, 2, 1, EXPECTED, id="expected before the limit"),
        pytest.param(LIMIT_3H | {"expected_runtime": "5h"}, {}, 2, 2, BOUNDED, id="expected behind limit"),
        pytest.param(LIMIT_3H | EXPECTED_30M, {}, 2, 2, BOUNDED, id="overdue with a limit"),
        pytest.param({"expected_runtime": "40m"}, {}, None, 1 / 3, ASSUMED, id="overdue: twice"),
        pytest.param({"expected_runtime": "20m"}, {}, None, 1 / 3, ASSUMED, id="overdue: four times"),
        pytest.param(LIMIT_1H, {}, None, 1, ASSUMED, id="it outlived its limit"),
        pytest.param({"time_limit": "40m"} | EXPECTED_30M, {}, None, 1, ASSUMED, id="both passed"),
    ],
)
def test_end_is_the_time_limit_or_the_expected_runtime_r17_1(
    own: dict[str, str],
    queue: dict[str, str],
    hard: int | None,
    likely: float | None,
    certainty: Certainty,
) -> None:
    case = cluster(own, queue)
    expected = [None if hours is None else case.now + round(hours * HOUR) for hours in (hard, likely)]
    assert end(case) == (*expected, certainty)


def test_pod_group_without_a_start_time_has_no_end_r17_1() -> None:
    assert end(cluster(LIMIT_1H, started=None)) == (None, None, Certainty.UNKNOWN)


@pytest.mark.parametrize(("since_start", "from_start"), [(150, 240), (239, 240), (240, 480)])
def test_exceeded_expected_runtime_is_doubled_until_it_is_in_the_future_e17_6(
    since_start: int, from_start: int
) -> None:
    case = cluster(EXPECTED_2H, started=f"{since_start}m")
    start = case.now - since_start * MINUTE
    assert end(case) == (None, start + from_start * MINUTE, ASSUMED)
