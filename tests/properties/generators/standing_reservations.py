"""Reservations of pod groups that wait, as the cycle before would have left them."""

from collections.abc import Sequence
from dataclasses import replace

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import NO_VICTIM_FACTS
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.terms.durations import SECOND

from tests.properties.generators.draw import Draw


def _nearest(limits: Sequence[int | None], path: tuple[int, ...]) -> int | None:
    return next((limits[each] for each in reversed(path) if limits[each] is not None), None) or None


def with_reservations(draw: Draw, cluster: Cluster, profile: Profile) -> tuple[Cluster, Profile]:
    """Copy of a cluster with time limits and reservations, and the profile with their action and plugin.

    Limits are those of queues and of some pod groups, so that plans have known ends and later ones.
    """
    limits = (None, 0, 600 * SECOND, 7_200 * SECOND)
    drawn = [draw.choice(limits) for _ in cluster.queues]
    queues = [
        replace(
            queue,
            facts=replace(queue.facts, time_limit=drawn[queue.index]),
            nearest_time_limit=_nearest(drawn, queue.path),
        )
        for queue in cluster.queues
    ]
    groups = [
        replace(
            group, facts=replace(group.facts, victim=replace(group.facts.victim, time_limit=3_600 * SECOND))
        )
        if group.facts.victim is NO_VICTIM_FACTS and draw.chance(20)
        else group
        for group in cluster.pod_groups
    ]
    cluster = replace(cluster, queues=tuple(queues), pod_groups=PersistentVector(groups))
    number = str(draw.integer(1, 4))
    arguments = {
        "minWait": "0s",
        "total": number,
        "perQueue": number,
        "maxFraction": draw.choice(("0.5", "1")),
    }
    plugins = (*profile.plugins, PluginConfig("reservation", arguments))
    made = answer(cluster, Profile(("reservation",), plugins))
    actions = ("reservation", *profile.actions)
    kept = replace(cluster, now=cluster.now + 60 * SECOND).carrying(PLANNED_STARTS, made.planned_starts or ())
    return kept, replace(profile, actions=actions, plugins=plugins)
