"""The verdict on top of a page: what got better and worse, and what is noise."""

import pytest
from tenure.simulator.comparison import Policy
from tenure.simulator.report.verdict import noise_text, summary_text, verdicts


def metrics(mean: float, lost: float = 10.0, goodput: float = 0.8, evictions: int = 0) -> dict:
    wait = {"mean": mean, "p99": 7_200, "max": 90_000}
    return {
        "jobs": {"never_started": 0, "completed": 10},
        "cluster": {"lost": lost, "goodput": goodput},
        "evictions": {"evictions": evictions, "violations": 0},
        "all": {"wait": wait},
    }


def test_each_figure_is_better_worse_or_the_same() -> None:
    first, second = metrics(3_600), metrics(1_800, lost=20.0, goodput=0.81)
    (found,) = verdicts([Policy("now", [first]), Policy("new", [second])])
    assert found.better == ["mean wait 1h to 30m (-50%)"]
    assert found.worse == ["lost GPU hours 10.0 to 20.0 (+100%)"]
    assert found.same == ["p99 wait", "longest wait", "goodput", "jobs completed"]
    assert found.text.startswith("new against now: better: mean wait 1h to 30m (-50%); worse: lost GPU hours")


@pytest.mark.parametrize(("others", "is_noise"), [((90, 80, 100), False), ((90, 140, 60), True)])
def test_over_seeds_a_difference_counts_beyond_twice_its_standard_error(others, is_noise) -> None:
    base = Policy("now", [metrics(110)] * 3)
    (found,) = verdicts([base, Policy("new", [metrics(each) for each in others])])
    assert ("mean wait" in found.same) is is_noise
    assert noise_text([base]).startswith("A difference counts if it is more than 2%, and more than twice its")


def test_what_seeds_agree_on_counts_only_beyond_two_percent() -> None:
    base, near = Policy("now", [metrics(1_000)] * 3), Policy("new", [metrics(999)] * 3)
    (found,) = verdicts([base, near])
    assert (found.better, found.worse) == ([], [])
    assert "mean wait" in found.same


def test_page_and_sentence_have_the_same_parts() -> None:
    (found,) = verdicts([Policy("now", [metrics(3_600)]), Policy("new", [metrics(1_800)])])
    assert [name for name, _ in found.parts] == ["better", "about the same"]
    assert (
        found.text
        == "new against now: "
        + "; ".join(f"{name}: {', '.join(entries)}" for name, entries in found.parts)
        + "."
    )


def test_what_was_nothing_before_has_no_percent() -> None:
    (found,) = verdicts([Policy("now", [metrics(100)]), Policy("new", [metrics(100, evictions=7)])])
    assert found.worse == ["evictions 0 to 7"]


def test_one_policy_has_a_summary() -> None:
    text = summary_text(Policy("now", [metrics(3_600)]))
    assert text.startswith("now: mean wait 1h, p99 wait 2h, longest wait 1d1h, lost GPU hours 10.0, ")
