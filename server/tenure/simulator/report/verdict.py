"""What got better and worse from the first policy to the others: the top of a page and of the tables.

A difference counts if it is larger than a fiftieth. With several seeds it must also be larger than twice its
standard error over the seeds; with one seed no more is known, because one run cannot show random variation.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final, NamedTuple

from tenure.simulator.comparison import Policy, Spread
from tenure.simulator.report.figures import SECTIONS, Figure, value_text

LEAST_CHANGE: Final = 0.02
"""Part of a figure by which it must differ to count."""
_ERRORS: Final = 2
"""Standard errors by which a mean difference must differ from 0 to count."""
_LOWER: Final = (
    "all.wait.mean",
    "all.wait.p99",
    "all.wait.max",
    "cluster.lost",
    "evictions.evictions",
    "evictions.violations",
    "jobs.never_started",
)
"""Figures that should be low."""
_HIGHER: Final = ("cluster.goodput", "jobs.completed")
"""Figures that should be high."""


class Verdict(NamedTuple):
    """One policy against the first one. Each entry is a text such as `mean wait 5h to 2h (-60%)`."""

    policy: str
    base: str
    better: Sequence[str]
    worse: Sequence[str]
    same: Sequence[str]
    """Within noise, or equal."""

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Names and entries, without those that have none."""
        found = (("better", self.better), ("worse", self.worse), ("about the same", self.same))
        return [(name, entries) for name, entries in found if entries]

    @property
    def text(self) -> str:
        """In one sentence."""
        parts = [f"{name}: {', '.join(entries)}" for name, entries in self.parts]
        return f"{self.policy} against {self.base}: " + "; ".join(parts) + "."


def verdicts(policies: Sequence[Policy]) -> list[Verdict]:
    """One for each policy after the first."""
    return [_verdict(policies[0], policy) for policy in policies[1:]]


def noise_text(policies: Sequence[Policy]) -> str:
    """How noise was separated from real differences, as a sentence for people."""
    if len(policies[0].metrics) > 1:
        return (
            f"A difference counts if it is more than {LEAST_CHANGE:.0%}, and more than twice its standard "
            "error over the seeds."
        )
    return (
        f"A difference of at most {LEAST_CHANGE:.0%} counts as the same. One run is one sample: use --seed "
        "several times, with --resample for a trace from a file, to tell differences from luck."
    )


def summary_text(policy: Policy) -> str:
    """The figures of a verdict for one policy, in one sentence."""
    parts = [f"{_name(figure)} {_text(figure, policy.spread(figure.of))}" for figure in _figures()]
    return f"{policy.name}: " + ", ".join(part for part in parts if not part.endswith(" -")) + "."


def _verdict(base: Policy, policy: Policy) -> Verdict:
    better: list[str] = []
    worse: list[str] = []
    same: list[str] = []
    for figure in _figures():
        before, after = base.spread(figure.of), policy.spread(figure.of)
        difference = policy.difference(base, figure.of)
        if before is None or after is None or difference is None:
            continue
        if not before.mean and not after.mean:
            continue  # neither has any, such as evictions of simple policies
        if not _counts(before, difference):
            same.append(_name(figure))
            continue
        entry = f"{_name(figure)} {_text(figure, before)} to {_text(figure, after)}"
        if before.mean:
            entry += f" ({difference.mean / before.mean:+.0%})"
        is_less = difference.mean < 0
        (better if is_less is (".".join(figure.path) in _LOWER) else worse).append(entry)
    return Verdict(policy.name, base.name, better, worse, same)


def _counts(before: Spread, difference: Spread) -> bool:
    """Whether a difference is more than noise."""
    size, error = abs(difference.mean), 0.0
    if difference.runs > 1:
        error = difference.deviation / sqrt(difference.runs)
    return size > LEAST_CHANGE * abs(before.mean) and size > _ERRORS * error


def _figures() -> Iterable[Figure]:
    found = {".".join(figure.path): figure for _, section in SECTIONS for figure in section}
    return [found[path] for path in (*_LOWER, *_HIGHER)]


def _name(figure: Figure) -> str:
    """Such as `mean wait` for `Wait, mean`."""
    what, _, part = figure.title.partition(", ")
    what = what[0].lower() + what[1:]
    return f"{part} {what}" if part else what


def _text(figure: Figure, found: Spread | None) -> str:
    return value_text(figure.kind, None if found is None else found.mean)
