"""Speedups change no decision. A few clusters here; the check `differential` compares 10,000."""

from collections import Counter

from tests.properties.differential import compare

SEEDS = range(300)


def test_speedups_change_no_decision() -> None:
    total: Counter[str] = Counter()
    for seed in SEEDS:
        total.update(compare(seed))
    assert total["different"] == 0, total
    assert total["with evictions"] > len(SEEDS) // 20, "the clusters are too easy to say anything"
    assert total["simulations saved"] > total["simulations left"] // 20, total
