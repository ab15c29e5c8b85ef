"""The format of the configuration file.

`actions` and `tiers` are those of the scheduler configuration this project took over; the other
sections are our own. Everything is optional: what is absent has the value of the default profile.

    actions: "allocate, reclaim"
    tiers:
    - plugins:
      - name: minruntime
        arguments: {defaultReclaimMinRuntime: 10m}
    options:
      stalenessGrace: 2m
    server:
      maxWaitingCalls: 16
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from tenure.server.settings.records import RecordSettings
from tenure.server.settings.server import ServerSection
from tenure.server.settings.telemetry import TelemetrySection
from tenure.server.settings.values import (
    AtLeastOne,
    Duration,
    DurationOrNever,
    PositiveDuration,
    Section,
    nothing,
)
from tenure.solver.framework.profile import Options

_DEFAULTS = Options()


def _names(value: object) -> object:
    """A list of names from a comma-separated text; lists pass as they are."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class Plugin(Section):
    """One plugin and its arguments, as text."""

    name: str
    arguments: Annotated[dict[str, str], BeforeValidator(nothing)] = {}


class Tier(Section):
    """A list of plugins. All tiers make one list; their borders have no meaning."""

    plugins: list[Plugin]


class CycleOptions(Section):
    """Settings of the cycle itself; what they mean is said at `tenure.solver.framework.profile.Options`."""

    max_consolidation_victims: Annotated[int, Field(ge=-1)] = _DEFAULTS.max_consolidation_victims
    consolidating_reclaim: bool = _DEFAULTS.consolidating_reclaim
    skip_similar: bool = _DEFAULTS.skip_similar
    revoke_promises: bool = _DEFAULTS.revoke_promises
    staleness_grace: DurationOrNever = _DEFAULTS.staleness_grace
    prune: bool = _DEFAULTS.prune
    requeue_order: Literal["priority", "overrun"] = "priority"
    requeue_strict: bool = _DEFAULTS.requeue_strict
    default_requeue_delay: Duration = _DEFAULTS.default_requeue_delay
    max_requeue_contenders: AtLeastOne = _DEFAULTS.max_requeue_contenders
    eviction_memory_retention: Duration = _DEFAULTS.eviction_memory_retention
    group_timeout: PositiveDuration = _DEFAULTS.group_timeout
    max_simulations_per_pod_group: AtLeastOne = _DEFAULTS.max_simulations_per_pod_group
    max_simulations_per_action: AtLeastOne = _DEFAULTS.max_simulations_per_action


class Configuration(Section):
    """The whole file."""

    actions: Annotated[list[str], BeforeValidator(_names), Field(min_length=1)] | None = None
    tiers: Annotated[list[Tier], Field(min_length=1)] | None = None
    options: Annotated[CycleOptions, BeforeValidator(nothing)] = CycleOptions()
    server: Annotated[ServerSection, BeforeValidator(nothing)] = ServerSection()
    records: Annotated[RecordSettings, BeforeValidator(nothing)] = RecordSettings()
    telemetry: Annotated[TelemetrySection, BeforeValidator(nothing)] = TelemetrySection()
