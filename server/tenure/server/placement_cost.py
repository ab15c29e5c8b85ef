"""What the node scores of a profile cost: told at start where they keep the node index from being used."""

from typing import Final

from tenure.codec.decode import decode_snapshot
from tenure.server.culprit import culprit_of
from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import with_required_plugins
from tenure.terms.formatting import join_words
from tenure.v1.snapshot_pb2 import ClusterSnapshot

_INDEX: Final = "node_index"


def describe_placement_cost(profile: Profile, registry: Registry) -> str:
    """Which scores of a valid profile are computed for all nodes and each pod, and what that costs; empty:
    the node index knows the order of all.
    """
    if _INDEX not in profile.options.speedups:
        return ""
    snapshot = ClusterSnapshot(cluster_id="none")
    snapshot.now.FromSeconds(1)
    cluster = decode_snapshot(snapshot)
    try:
        session = Session.open(cluster, with_required_plugins(profile), registry)
    except Exception as error:
        who, text = culprit_of(error) or "the profile", " ".join(str(error).split())
        return f"{who} fails on a cluster without nodes: {type(error).__name__}: {text}"
    names = list(session.chains.unindexed_scores())
    if not names:
        return ""
    which = f"{'score' if len(names) == 1 else 'scores'} of {join_words(names)}"
    return (
        f"the node index does not know the {which}: whenever a pod is placed, all scores are computed for "
        "every node (docs/extend/plugins.md tells what that costs)"
    )
