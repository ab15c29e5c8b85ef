"""The format of the configuration file.

`actions` and `tiers` are those of the scheduler configuration this project took over; `options` and
`server` are our own. Everything is optional: what is absent has the value of the default profile.

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

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from tenure.solver.framework.profile import Options
from tenure.solver.model.duration import SECOND, parse_duration

_DEFAULTS = Options()


def _names(value: object) -> object:
    """A list of names from a comma-separated text; lists pass as they are."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _nothing(value: object) -> object:
    """An empty section (`arguments:` and nothing more) is one without entries."""
    return {} if value == "" else value


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("must be a duration like 30s, 1h30m or 2d")
    return parse_duration(value)


def _duration_or_never(value: object) -> int:
    return -1 if value == "never" else _duration(value)


AtLeastOne = Annotated[int, Field(ge=1)]
Duration = Annotated[int, BeforeValidator(_duration)]
DurationOrNever = Annotated[int, BeforeValidator(_duration_or_never)]


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


class Plugin(_Section):
    """One plugin and its arguments, as text."""

    name: str
    arguments: Annotated[dict[str, str], BeforeValidator(_nothing)] = {}


class Tier(_Section):
    """A list of plugins. All tiers make one list; their borders have no meaning."""

    plugins: list[Plugin]


class CycleOptions(_Section):
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
    max_simulations_per_pod_group: AtLeastOne = _DEFAULTS.max_simulations_per_pod_group
    max_simulations_per_action: AtLeastOne = _DEFAULTS.max_simulations_per_action


class ServerLimits(_Section):
    """What the server accepts."""

    max_message_mib: Annotated[int, Field(ge=1, le=1024)] = 64
    """Largest request, in MiB; larger ones get RESOURCE_EXHAUSTED."""
    max_waiting_calls: AtLeastOne = 16
    """Calls that may wait for the cycle in progress; more get RESOURCE_EXHAUSTED and may retry later."""
    drain_timeout: Duration = 20 * SECOND
    """How long calls in flight may take to finish after SIGTERM."""


class Configuration(_Section):
    """The whole file."""

    actions: Annotated[list[str], BeforeValidator(_names), Field(min_length=1)] | None = None
    tiers: Annotated[list[Tier], Field(min_length=1)] | None = None
    options: Annotated[CycleOptions, BeforeValidator(_nothing)] = CycleOptions()
    server: Annotated[ServerLimits, BeforeValidator(_nothing)] = ServerLimits()
