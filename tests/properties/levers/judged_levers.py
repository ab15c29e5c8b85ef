"""The check `levers`: what a tenant writes after the start takes nothing from other queues."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Final, NamedTuple

import typer
from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest

from tests.checks import Counts
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.draw import Draw, SeededDraw
from tests.properties.levers.contested_queues import TENANT, ContestedQueues, contested_queues
from tests.properties.levers.edits import edit
from tests.properties.levers.tenant_cluster import TenantCluster

BATCH: Final = 20
EDITS: Final = 20
CYCLES: Final = 24
EVICTION: Final = 4
"""Cycles that an eviction takes, where capacity was free without the edits."""
PROTECTED: Final = 2
"""Cycles for which guards of these profiles protect, whichever pod groups they are asked about first."""
PLUGINS: Final[dict[str, dict[str, str]]] = {
    "nearcompletion": {"window": "2m"},
    "victimcooldown": {"cooldown": "2m", "maxCooldown": "2m"},
    "evictioncost": {},
}
EDITED: Final = 10
"""Cycles before which the tenant writes."""


def random_profile(draw: Draw) -> tuple[Profile, int]:
    """A profile, and the cycles that it may delay others."""
    profile, default = default_profile(), default_profile().options
    patience = draw.choice((0, 60, 120))
    notice = draw.choice((0, 0, 60, 120))
    plugins = list(profile.plugins)
    for name, arguments in PLUGINS.items():
        if draw.chance(25):
            plugins.append(PluginConfig(name, arguments))
    actions = (*profile.actions, "timelimit") if draw.chance(30) else profile.actions
    options = replace(default, budget_patience=patience * SECOND, max_notice=notice * SECOND)
    options = replace(options, victim_choice=draw.choice(("least", "least", "inOrder")))
    return Profile(actions, tuple(plugins), options), (patience + notice) // 60 + PROTECTED + EVICTION


class Given(NamedTuple):
    """What a queue has after a cycle, in GPUs."""

    gpus: int
    fair_share: int
    """Rounded down."""
    step: int
    """The least that a pending pod group of it can go on with; 0: none is pending."""

    @property
    def due(self) -> int:
        """What others must not take: what it has up to its fair share."""
        return min(self.gpus, self.fair_share)


NOTHING: Final = Given(0, 0, 0)


def play(engine: Engine, drawn: ContestedQueues, seed: int, edits: Collection[int]) -> list[dict[str, Given]]:
    """What each queue is given in each cycle, with the edits of these numbers."""
    cluster, given = TenantCluster(drawn), list[dict[str, Given]]()
    for cycle in range(CYCLES):
        for number in edits:
            if number * EDITED // EDITS == cycle:
                edit(SeededDraw(seed * EDITS + number), cluster)
        cluster.begin_cycle()
        response = engine.decide(DecideRequest(snapshot=cluster.snapshot)).parse()
        cluster.apply(response)
        shares = {status.name: int(status.fair_share.gpu_milli) // 1000 for status in response.queues}
        rows = cluster.given().items()
        given.append({name: Given(gpus, shares[name], step) for name, (gpus, step) in rows})
    return given


def find_losses(plain: list[dict[str, Given]], edited: list[dict[str, Given]], late: int) -> list[str]:
    """What other queues are given less or later with edits than without, of what they are due.

    What the tenant gives up goes to others by their own rules: not more of it to each, but to all together.
    A queue that could not start another pod group within what it is due lacks nothing but a smaller gang.
    """
    losses = []
    others = [
        [sum(row[name].gpus for name in row if name != TENANT) for row in run] for run in (plain, edited)
    ]
    for name in sorted(plain[-1].keys() - {TENANT}):
        had, has = ([row.get(name, NOTHING) for row in run] for run in (plain, edited))
        for cycle in range(CYCLES):
            end, due = min(cycle + late + 1, CYCLES), had[cycle].due
            if end == CYCLES and cycle < CYCLES - 1:
                continue
            best = max(has[:end] if cycle < CYCLES - 1 else has[-1:])
            lacks = due - best.gpus
            is_more = max(others[1][cycle:end]) > others[0][cycle]
            if lacks > 0 and 0 < has[end - 1].step <= lacks and not is_more:
                losses.append(f"queue {name} has {best.gpus} of the {due} GPUs of cycle {cycle}")
                break
    return losses


def compare(drawn: ContestedQueues, profile: Profile, late: int, seed: int) -> tuple[bool, list[str]]:
    """Play a cluster twice. Returns whether the edits change anything, and what others lose by them."""
    engine = Engine(profile)
    plain, edited = play(engine, drawn, seed, ()), play(engine, drawn, seed, range(EDITS))
    return plain != edited, find_losses(plain, edited, late)


def judge(seed: int) -> Counter[str]:
    """Play the cluster of a seed with and without the edits."""
    draw = SeededDraw(seed)
    profile, late = random_profile(draw)
    matters, losses = compare(contested_queues(draw), profile, late, seed)
    found = Counter({"clusters": 1, "clusters in which edits change what is given": int(matters)})
    found["wrong"] = int(bool(losses))
    found.update(f"seed {seed}: {loss}" for loss in losses)
    return found


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 10_000,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
) -> Counts:
    """Play clusters with and without 20 edits of a tenant, and compare what other queues are given."""
    seeds = range(first, first + count)
    return report(count_all(judge, seeds, count, BATCH, "playing"), count)
