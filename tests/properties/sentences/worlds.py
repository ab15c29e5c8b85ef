"""Random clusters and profiles: all features of the default profile, and for every third one the full one."""

from dataclasses import replace
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND

from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.disruption_budgets import PACING, random_pacing, with_disruption_budgets
from tests.properties.generators.draw import Draw, SeededDraw
from tests.properties.generators.guard_profiles import ARGUMENTS, with_costs
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.standing_reservations import with_reservations
from tests.properties.notices.judged_notices import noticed_cluster

FULL: Final = 2
"""Remainder of the seeds with the full profile."""
LONGEST_NOTICE: Final = 3_600 * SECOND


def draw_world(seed: int) -> tuple[Cluster, Profile]:
    """The cluster and the profile of a seed."""
    draw = SeededDraw(seed)
    if seed % 3 == FULL:
        return _full(draw, seed)
    cluster = contested_cluster(draw) if seed % 3 else _free(draw, seed)
    if draw.chance(20):
        cluster = with_disruption_budgets(SeededDraw(~seed), cluster)
    return cluster, default_profile()


def _free(draw: Draw, seed: int) -> Cluster:
    return random_cluster(draw, SeededDraw(-seed) if draw.chance(50) else None)


def _full(draw: Draw, seed: int) -> tuple[Cluster, Profile]:
    """All guards, costs, notices, requeue, rates; half of them with reservations."""
    profile = default_profile()
    listed = {plugin.name for plugin in profile.plugins}
    guards = [PluginConfig(name) for name in ARGUMENTS if name not in listed]
    profile = with_costs(replace(profile, plugins=(*profile.plugins, *guards)), draw)
    actions = tuple(each for each in profile.actions if each not in ("requeue", "stalegangeviction"))
    profile = replace(profile, actions=(*actions, "requeue", "stalegangeviction"))
    cluster = noticed_cluster(draw) if draw.chance(70) else _free(draw, seed)
    if draw.chance(50):
        profile = replace(profile, options=replace(profile.options, max_notice=LONGEST_NOTICE))
    if draw.chance(40):
        cluster, pacing = random_pacing(SeededDraw(~seed), with_disruption_budgets(draw, cluster))
        values = {name: getattr(pacing, name) for name in PACING}
        profile = replace(profile, options=replace(profile.options, **values))
    if draw.chance(50):
        cluster, profile = with_reservations(SeededDraw(-7 - seed), cluster, profile)
    return cluster, profile
