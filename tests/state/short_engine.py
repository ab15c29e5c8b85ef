"""An engine with a small search budget, so that large snapshots get a quick and deterministic response."""

from dataclasses import replace

from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile


def short_engine() -> Engine:
    profile = default_profile()
    options = replace(profile.options, max_simulations_per_pod_group=20, max_simulations_per_action=60)
    return Engine(replace(profile, options=options))
