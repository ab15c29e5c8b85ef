"""Eviction rates in the configuration file."""

from pathlib import Path

import pytest
from tenure.server.settings import ConfigurationError, load_settings
from tenure.solver.model.disruption_limits import EvictionRate
from tenure.terms.durations import SECOND


def write(tmp_path: Path, *rates: str, rest: str = "") -> Path:
    file = tmp_path / "tenure.yaml"
    rows = "".join(f"    - {{{rate}}}\n" for rate in rates)
    file.write_text(f"options:\n  evictionRates:\n{rows}{rest}")
    return file


def test_rates_and_limits_are_read(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "name: all, rate: 10/h, burst: 4",
        "name: few, rate: 1 / 15m, burst: 1, scope: victimQueue, queue: q, unit: podGroups, actions: reclaim",
        rest="  maxDisruptedPerCycle: 5\n  maxDisruptedPerPodGroup: 2\n",
    )
    options = load_settings(file).profile.options
    assert options.eviction_rates == (
        EvictionRate("all", 10, 3_600 * SECOND, 4),
        EvictionRate("few", 1, 900 * SECOND, 1, "victimQueue", "q", ("reclaim",), "podGroups"),
    )
    assert (options.max_disrupted_per_cycle, options.max_disrupted_per_pod_group) == (5, 2)


@pytest.mark.parametrize(
    ("rate", "problem"),
    [
        ("name: a, rate: 10, burst: 1", "rate: must be a number and a period, such as 10/h or 1/15m"),
        ("name: a, rate: 0/h, burst: 1", "rate: must be a number and a period, such as 10/h or 1/15m"),
        ("name: a, rate: 1/0s, burst: 1", "rate: the period must be longer than 0s"),
        ("name: a, rate: 1/x, burst: 1", "'1x' is not a duration"),
        ("name: a, rate: 1/h, burst: 0", "burst"),
        ("name: '', rate: 1/h, burst: 1", "name"),
        ("name: a, rate: 1/h, burst: 1, scope: victimQueue", "the scope victimQueue needs a queue"),
        ("name: a, rate: 1/h, burst: 1, queue: q", "the scope pool takes no queue"),
        ("name: a, rate: 1/h, burst: 1, actions: evict", "unknown action 'evict'"),
        ("name: b, rate: 1/h, burst: 1", "the name 'b' is used twice"),
    ],
)
def test_a_rate_that_limits_nothing_as_meant_prevents_the_start(
    tmp_path: Path, rate: str, problem: str
) -> None:
    file = write(tmp_path, rate, "name: b, rate: 1/h, burst: 1")
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file)
    assert problem in str(caught.value)
    assert "options.evictionRates" in str(caught.value)
