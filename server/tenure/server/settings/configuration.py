"""Format of the configuration file, and its conversion to a profile and the server's limits.

`actions` and `tiers` have the format of KAI's scheduler configuration; the other sections are Tenure's. All
keys are optional; defaults are those of the default profile.

    actions: "allocate, reclaim"
    plugins:
      minruntime: {defaultReclaimMinRuntime: 10m}
      numa: true
    options:
      stalenessGracePeriod: 2m
    server:
      maxQueuedCalls: 16
"""

from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationError
from tenure.process.configuration import (
    ConfigProblem,
    ConfigurationError,
    Sections,
    find_problems,
    read_document,
)
from tenure.process.values import (
    AtLeastOne,
    ConfigSection,
    Duration,
    DurationOrNever,
    Logs,
    PositiveDuration,
    TelemetrySection,
    parse_empty_section,
)
from tenure.server.installed import installed_registry
from tenure.server.settings.eviction_rates import MAX_RATES, EvictionRateSection, read_rates, unique_names
from tenure.server.settings.plugins import Plugin, PluginChanges, PluginList, Tier, list_plugins
from tenure.server.settings.server import (
    JwtIssuer,
    MaxRows,
    RecordSettings,
    Security,
    ServerLimits,
    ServerSection,
)
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, Profile
from tenure.solver.registry import check_profile, default_profile

_DEFAULTS = CycleOptions()


def _names(value: object) -> object:
    """Split a comma-separated text to names; lists pass unchanged."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _speedups(value: object) -> object:
    """`all`, `none`, or names as in `_names`, which `check_profile` compares with the known ones."""
    names = _names(value)
    if names == ["all"]:
        return SPEEDUPS
    return () if names == ["none"] else names


def _speedups_text(value: tuple[str, ...]) -> str:
    return "all" if value == SPEEDUPS else ", ".join(value) or "none"


class OptionsSection(ConfigSection):
    """Options of the cycle."""

    max_consolidation_victims: Annotated[int, Field(ge=-1)] = _DEFAULTS.max_consolidation_victims
    """Pod groups that one consolidation may relocate; 0 disables consolidation, -1 is unlimited."""
    allow_consolidating_reclaim: bool = _DEFAULTS.allow_consolidating_reclaim
    """Whether a victim that is placed elsewhere does not count against its queue."""
    skip_similar_pod_groups: bool = _DEFAULTS.skip_similar_pod_groups
    """Whether to skip a pod group if one of its queue with no larger request was just found unschedulable.
    """
    allow_same_cycle_eviction: bool = _DEFAULTS.allow_same_cycle_eviction
    """Whether a later action may evict what an earlier one placed in the same cycle."""
    staleness_grace_period: DurationOrNever = _DEFAULTS.staleness_grace_period
    """How long a gang may run below its minimum; `never` disables its eviction."""
    speedups: Annotated[
        tuple[str, ...],
        BeforeValidator(_speedups),
        PlainSerializer(_speedups_text, return_type=str, when_used="json"),
    ] = _DEFAULTS.speedups
    """Parts of the search that save time and change no decision: `all`, `none`, or names."""
    requeue_order: Literal["priority", "overrun"] = "priority"
    """Which nominated pod group goes first: the lowest priority (`priority`) or the longest overrun
    (`overrun`).
    """
    requeue_strict: bool = _DEFAULTS.requeue_strict
    """Whether a requeue must also meet the fairness rules of reclaim and preempt."""
    default_requeue_delay: Duration = _DEFAULTS.default_requeue_delay
    """Cooldown: how long a pod group is not nominated again after a requeue, if neither it nor its queue sets
    a delay. 0s is none.
    """
    max_requeue_contenders: AtLeastOne = _DEFAULTS.max_requeue_contenders
    """Contenders that are tried in place of one nominated pod group."""
    eviction_history_retention: Duration = _DEFAULTS.eviction_history_retention
    """How long an eviction record is kept after its last event; at least `cooldown` and `maxBackoff`."""
    decision_group_timeout: PositiveDuration = _DEFAULTS.decision_group_timeout
    """Time until a decision group and its reservations expire."""
    max_notice: Duration = _DEFAULTS.max_notice
    """Longest time between the notice of an eviction and the eviction. 0s: pods are given no notice."""
    default_notice: Duration = _DEFAULTS.default_notice
    """Notice of pod groups for which neither they nor a queue set one; not longer than `maxNotice`."""
    notice_cooldown: Duration = _DEFAULTS.notice_cooldown
    """Time from a notice that was withdrawn until the pod group may get another one."""
    fill_back: Literal["never", "inPlace", "full"] = "full"
    """Whether victims that turn out to be needless are given back: `never`, only where they were (`inPlace`),
    or also by simulations without each of them (`full`).
    """
    max_fill_back_simulations: AtLeastOne = _DEFAULTS.max_fill_back_simulations
    """Simulations without one of the victims for each decision, with `fillBack: full`."""
    eviction_rates: Annotated[
        tuple[EvictionRateSection, ...],
        BeforeValidator(read_rates),
        Field(max_length=MAX_RATES),
        AfterValidator(unique_names),
    ] = ()
    """Token buckets that limit how fast pods are evicted and relocated."""
    max_disrupted_per_cycle: Annotated[int, Field(ge=-1)] = _DEFAULTS.max_disrupted_per_cycle
    """Pods that one cycle may evict or relocate; -1 is unlimited."""
    max_disrupted_per_pod_group: Annotated[int, Field(ge=-1)] = _DEFAULTS.max_disrupted_per_pod_group
    """Pods that one cycle may evict or relocate for one pod group; -1 is unlimited."""
    max_moved_gpus_per_gpu: Annotated[int, Field(ge=-1)] = _DEFAULTS.max_moved_gpus_per_gpu
    """GPUs whose pods one decision may restart on other nodes for each GPU that it requests; -1 is
    unlimited.
    """
    budget_patience: DurationOrNever = _DEFAULTS.budget_patience
    """How long disruption budgets hold against a pod group that waits for what it may reclaim. After that its
    victims are evicted in spite of their budgets, and the adapter needs permission to delete pods; `never`:
    budgets always hold.
    """
    victim_choice: Literal["least", "inOrder"] = "least"
    """Which victims are taken: those that do the least harm of the sets that were found by need, or the first
    ones in victim order that are enough, as the reference scheduler does.
    """
    victim_alternatives: AtLeastOne = _DEFAULTS.victim_alternatives
    """Sets of victims in victim order that are compared for each decision. 1 takes the first one."""
    max_repacking_looks: Annotated[int, Field(ge=0)] = _DEFAULTS.max_repacking_looks
    """Looks at nodes in a cycle to find other nodes for pods that it is about to bind, so that one more pod
    group starts. 0: pods stay on the first nodes that take them, as in the reference scheduler.
    """
    max_simulations_per_pod_group: AtLeastOne = _DEFAULTS.max_simulations_per_pod_group
    """Search budget for one pod group, in simulations."""
    max_simulations_per_action: AtLeastOne = _DEFAULTS.max_simulations_per_action
    """Search budget for one action, in simulations."""


class Configuration(ConfigSection):
    """The configuration file."""

    actions: Annotated[list[str], BeforeValidator(_names), Field(min_length=1)] | None = None
    plugins: Annotated[PluginChanges, BeforeValidator(parse_empty_section)] | None = None
    tiers: Annotated[list[Tier], Field(min_length=1)] | None = None
    allow_missing_plugins: Annotated[list[str], BeforeValidator(_names)] = []
    options: Annotated[OptionsSection, BeforeValidator(parse_empty_section)] = OptionsSection()
    server: Annotated[ServerSection, BeforeValidator(parse_empty_section)] = ServerSection()
    records: Annotated[RecordSettings, BeforeValidator(parse_empty_section)] = RecordSettings()
    telemetry: Annotated[TelemetrySection, BeforeValidator(parse_empty_section)] = TelemetrySection()

    def list_plugins(self) -> PluginList:
        """Plugins of the profile."""
        return list_plugins(self.tiers, self.plugins, self.allow_missing_plugins)

    def profile(self, plugins: PluginList) -> Profile:
        """The profile with these plugins."""
        actions = default_profile().actions if self.actions is None else tuple(self.actions)
        rates = tuple([rate.to_rate() for rate in self.options.eviction_rates])
        values = {**self.options.model_dump(), "eviction_rates": rates}
        return Profile(actions, plugins.plugins, CycleOptions(**values))


_SECTIONS: Final[Sections] = {
    (): Configuration,
    ("tiers",): Tier,
    ("tiers", "plugins"): Plugin,
    ("options",): OptionsSection,
    ("options", "evictionRates"): EvictionRateSection,
    ("server",): ServerSection,
    ("server", "maxRows"): MaxRows,
    ("server", "jwtIssuers"): JwtIssuer,
    ("records",): RecordSettings,
    ("telemetry",): TelemetrySection,
    ("telemetry", "logs"): Logs,
}


class Settings(NamedTuple):
    """Contents of a configuration file."""

    profile: Profile
    limits: ServerLimits = ServerLimits()
    security: Security = Security()
    telemetry: TelemetrySection = TelemetrySection()
    records: RecordSettings = RecordSettings()


def load_settings(file: Path | None) -> Settings:
    """Load the settings of a file, or the embedded defaults without one.

    Raises ConfigurationError with every error: syntax, unknown keys, plugins, arguments and actions, and
    invalid values. A returned profile is usable.
    """
    if file is None:
        return Settings(default_profile())
    configuration = read_configuration(file)
    plugins = configuration.list_plugins()
    profile = configuration.profile(plugins)
    problems = _profile_problems(profile, plugins)
    if problems:
        raise ConfigurationError(str(file), problems)
    server = configuration.server
    return Settings(
        profile, server.limits(), server.security(), configuration.telemetry, configuration.records
    )


def read_configuration(file: Path) -> Configuration:
    """The sections of a file. Raises ConfigurationError; the profile is not checked."""
    document = read_document(file)
    if not isinstance(document, dict | None):
        raise ConfigurationError(
            str(file), [ConfigProblem("", "must be a mapping with keys such as `actions`")]
        )
    try:
        return Configuration.model_validate(document or {})
    except ValidationError as error:
        found = [*find_problems(error, _SECTIONS), *_problems_of_the_rest(document or {}, error)]
        raise ConfigurationError(str(file), found) from None


def _problems_of_the_rest(document: dict[str, Any], error: ValidationError) -> list[ConfigProblem]:
    """Errors of the profile without the keys that are at fault; none if it cannot be read without them."""
    rest = deepcopy(document)
    for fault in error.errors(include_url=False, include_input=False):
        if path := fault["loc"]:
            _remove(rest, path)
    try:
        configuration = Configuration.model_validate(rest)
    except ValidationError:
        return []
    plugins = configuration.list_plugins()
    return _profile_problems(configuration.profile(plugins), plugins)


def _remove(document: dict[str, Any], path: tuple[str | int, ...]) -> None:
    """Remove the key at a path, or the innermost mapping's key that leads there; lists go as a whole."""
    inner, key = document, path[0]
    for step in path[1:]:
        below = inner.get(str(key))
        if not isinstance(below, dict) or step not in below:
            break
        inner, key = below, step
    inner.pop(str(key), None)


def _profile_problems(profile: Profile, plugins: PluginList) -> list[ConfigProblem]:
    """Errors of the profile, with paths in the file."""
    found = check_profile(profile, installed_registry())
    return [*(ConfigProblem(plugins.path_in_file(path), text) for path, text in found), *plugins.problems]
