"""No pod is evicted without the notice that it wants. The check `notices` judges many more sequences."""

from collections import Counter

from tests.properties.notices.judged_notices import judge


def test_pods_on_random_clusters_are_told_before_they_are_evicted() -> None:
    found = Counter[str]()
    for seed in range(60):
        found.update(judge(seed))
    assert [text for text in found if text.startswith("seed")] == []
    kinds = ("pods told", "notices withdrawn", "evictions after notice", "early evictions")
    assert min(found[kind] for kind in kinds) > 0
