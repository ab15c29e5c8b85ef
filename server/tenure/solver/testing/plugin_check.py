"""A check of plugins at run time: signatures, purity, and the traits that they declare."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from itertools import islice, product
from typing import Any, Final

from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.chains import POINTS
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.plugin_api import points, traits
from tenure.solver.plugin_api.context import PluginContext, PluginFactory
from tenure.solver.plugin_api.ledger_view import FreeDevice
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.plugin_api.step import Step
from tenure.solver.plugin_api.traits import Expiry, SameFor, Validity, traits_of
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.testing.builder import ClusterBuilder
from tenure.terms.durations import SECOND

NAME: Final = "checked"
_ATTRIBUTES: Final = ("TRAITS", "ARGUMENTS", "DEFAULTS", "REASONS", "STEP")
"""Attributes of a class that the framework reads."""
_STEP_ARGUMENTS: Final = {"begin": "a StepStart", "run": "an ActionContext", "end": "an ActionContext"}
"""What the functions of a step are called with."""
_NEAR: Final = 0.8
"""Similarity from which on one name is probably a misspelling of the other."""
MAX_CALLS: Final = 200
"""Calls of one method with different values."""
TIME_STEP: Final = 3 * 3_600 * SECOND


def check_plugin(
    factory: PluginFactory, arguments: Mapping[str, str] | None = None, cluster: Cluster | None = None
) -> list[str]:
    """Problems of a plugin; empty if there are none.

    The methods of its extension points are called with the pod groups, tasks, nodes and queues of the
    cluster, by default a small one with running and pending pod groups in two queues. Checked are:

    - names and signatures: each method accepts the arguments of its protocol, and no public name is nearly
      that of a method of a protocol, which the framework finds by its name;
    - step: `STEP` is a `Step`, and its functions accept their argument;
    - reasons: those of rejections and verdicts are declared;
    - purity: calls with equal arguments return equal results, in one session and in two, two cycles decide
      the same, and no placement changes;
    - traits: verdicts are equal for preemptors that share them, verdicts end only if `expiry` permits it, and
      keys and fits that follow from facts are the same at another time.
    """
    check = _Check(factory, arguments or {}, cluster or sample_cluster())
    problems = check.signatures()
    return problems or [*check.purity(), *check.guard_traits(), *check.lasting_traits()]


def sample_cluster() -> Cluster:
    """Running and pending pod groups of different sizes and priorities in two queues."""
    builder = ClusterBuilder().node("a", gpus=4).node("b", gpus=2).queue("p", quota=2).queue("q", quota=4)
    builder.running("old", queue="p", gpus=1, count=3, min_member=1, node="a", started_ago="2h")
    builder.running("young", queue="q", gpus=1, node="a", started_ago="5m", priority=75)
    builder.running("whole", queue="p", gpus=2, node="b", started_ago="1h")
    builder.pending("small", queue="q", gpus=1, priority=75)
    return builder.pending("large", queue="q", gpus=4, priority=75).pending("low", queue="p", gpus=1).build()


class _Check:
    def __init__(self, factory: PluginFactory, arguments: Mapping[str, str], cluster: Cluster) -> None:
        self._registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, NAME: factory})
        default = default_profile()
        plugins = (*default.plugins, PluginConfig(NAME, arguments))
        self._profile = with_required_plugins(Profile(default.actions, plugins))
        self._factory = factory
        self._arguments = arguments
        self._cluster = cluster

    def _open(self, cluster: Cluster | None = None) -> tuple[Any, PluginContext]:
        """A plugin of a new session, and the context of the session."""
        session = Session.open(cluster or self._cluster, self._profile, self._registry)
        context = session.plugin_context()
        return self._factory(context, self._arguments), context

    def signatures(self) -> list[str]:
        """Methods and functions of the step that do not accept their arguments, and names that are nearly
        those of methods and attributes that the framework reads.
        """
        plugin, _ = self._open()
        problems = [*_wrong_methods(plugin), *_near_misses(plugin), *_wrong_step(self._factory, plugin)]
        is_used = isinstance(plugin, points.Idle) or hasattr(self._factory, "STEP")
        if not is_used and not any(hasattr(plugin, name) for name in POINTS.values()):
            problems.append("it implements no extension point, and has no step")
        return problems

    def purity(self) -> Iterator[str]:
        """Methods with different results for equal arguments, and effects on the session."""
        (plugin, context), (other, _) = self._open(), self._open()
        before = [context.ledger.placement(task.index) for task in self._cluster.tasks]
        declared = tuple(getattr(plugin, "REASONS", ()))
        undeclared = set[str]()
        for name, values in _calls(plugin, context):
            first, again, elsewhere = (_result(each, name, values) for each in (plugin, plugin, other))
            if not first == again == elsewhere:
                yield f"{name}{values}: results differ: {first}, {again}, {elsewhere}"
            if isinstance(first, Rejection | GuardVerdict) and (custom := first.custom) is not None:
                code = first.reason if isinstance(first, GuardVerdict) else first.code
                if custom.base is not code:
                    undeclared.add(
                        f"{name}: the code beside {custom.code} is {code.name}; its base must be, too"
                    )
                elif custom not in declared:
                    undeclared.add(f"{name}: {custom.code} has no effect; list it in REASONS of the class")
        yield from sorted(undeclared)
        if before != [context.ledger.placement(task.index) for task in self._cluster.tasks]:
            yield "a call changed placements"
        decided = [answer(self._cluster, self._profile, registry=self._registry) for _ in range(2)]
        if decided[0].groups != decided[1].groups or decided[0].outcomes != decided[1].outcomes:
            yield "two cycles on the same cluster decide differently"

    def guard_traits(self) -> Iterator[str]:
        """Verdicts that contradict `verdicts` and `expiry`."""
        plugin, context = self._open()
        declared = traits_of(plugin)
        if not hasattr(plugin, "guard"):
            return
        if declared.verdicts is SameFor.KEY and not hasattr(plugin, "guard_cache_key"):
            yield "SameFor.KEY requires guard_cache_key"
            return
        if declared.expiry is Expiry.CHECK and not hasattr(plugin, "may_expire"):
            yield "Expiry.CHECK requires may_expire"
            return
        groups = range(len(self._cluster.pod_groups))
        known: dict[Any, Any] = {}
        for action, preemptor, victim in product(context.guarded_actions.actions, groups, groups):
            if preemptor == victim:
                continue
            verdict = plugin.guard(action, preemptor, victim)
            key = self._key(plugin, declared.verdicts, preemptor)
            if key is not None and known.setdefault((action, key, victim), verdict) != verdict:
                yield f"guard({action}, {preemptor}, {victim}): differs from that of another preemptor"
            if verdict is None or not verdict.scope or verdict.until is None:
                continue
            if declared.expiry is Expiry.NEVER or (
                declared.expiry is Expiry.CHECK and not plugin.may_expire([victim])
            ):
                yield f"guard({action}, {preemptor}, {victim}): protects until a time, against its trait"

    def _key(self, plugin: Any, same_for: SameFor, preemptor: int) -> Any:
        """Preemptors with equal keys share verdicts; None: not shared."""
        if same_for is SameFor.ANY:
            return 0
        if same_for is SameFor.QUEUE:
            return ("queue", self._cluster.pod_groups[preemptor].queue)
        return plugin.guard_cache_key(preemptor) if same_for is SameFor.KEY else None

    def lasting_traits(self) -> Iterator[str]:
        """Results that are declared to follow from facts and depend on the time."""
        plugin, context = self._open()
        other, _ = self._open(replace(self._cluster, now=self._cluster.now + TIME_STEP))
        declared = traits_of(plugin)
        names = {"pod_group_key"} if declared.order_keys is Validity.FACTS else set()
        names |= {"fits"} if declared.node_fits is Validity.FACTS else set()
        for name, values in _calls(plugin, context):
            if name in names and _result(plugin, name, values) != _result(other, name, values):
                yield f"{name}{values}: depends on the time, against its trait"


def _wrong_methods(plugin: Any) -> Iterator[str]:
    """Methods by the names of the protocols that the framework cannot call."""
    for name, function, protocol in _protocols():
        method = getattr(plugin, name, None)
        if method is None:
            continue
        if not hasattr(type(plugin), name):
            if callable(method):
                yield f"{name}: it is set on the object, where it has no effect; define it in the class"
            continue
        call = f"{name}{_arguments(function)}"
        if not callable(method):
            yield f"{name}: it is the method {call} of {protocol}; rename the attribute"
            continue
        try:
            signature(method).bind(*list(signature(function).parameters)[1:])
        except TypeError as error:
            yield f"{call}: {error}; {protocol} has this method: accept its arguments, or rename the method"


def _wrong_step(factory: PluginFactory, plugin: object) -> Iterator[str]:
    """A step that a cycle cannot take, or does not find."""
    step: object = getattr(factory, "STEP", None)
    if step is None:
        if hasattr(plugin, "STEP"):
            yield "STEP: a cycle does not find it; set it on the factory"
        return
    if not isinstance(step, Step):
        yield f"STEP: it is a value of {type(step).__name__}; write Step(name, begin=..., run=..., end=...)"
        return
    for name, argument in _STEP_ARGUMENTS.items():
        function = getattr(step, name)
        if function is None:
            continue
        if not callable(function):
            yield f"STEP.{name}: it is no function; write one that accepts {argument}"
            continue
        try:
            signature(function).bind(None)
        except TypeError as error:
            yield f"STEP.{name}: {error}; it is called with one argument, {argument}"


def _near_misses(plugin: Any) -> Iterator[str]:
    """Public names of the class that are nearly those of methods of protocols, or of attributes."""
    calls = {name: f"{name}{_arguments(function)}" for name, function, _ in _protocols()}
    known = {_plain(name): name for name in (*calls, *_ATTRIBUTES)}
    for name in dir(type(plugin)):
        if name.startswith("_") or name in known.values():
            continue
        if near := get_close_matches(_plain(name), known, n=1, cutoff=_NEAR):
            found = known[near[0]]
            meant = calls.get(found, found)
            yield f"{name}: it has no effect; did you mean {meant}? Begin the name of a helper with _"


def _plain(name: str) -> str:
    """A name without case and underscores."""
    return name.replace("_", "").lower()


def _arguments(function: Any) -> str:
    return f"({', '.join(list(signature(function).parameters)[1:])})"


def _protocols() -> Iterator[tuple[str, Any, str]]:
    """Methods of all protocols: name, function, and name of the protocol."""
    for module in (points, traits):
        for protocol in vars(module).values():
            if getattr(protocol, "_is_protocol", False) and protocol.__module__ == module.__name__:
                for name, each in vars(protocol).items():
                    if not name.startswith("_"):
                        yield name, each, protocol.__name__


def _calls(plugin: Any, context: PluginContext) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Methods of the plugin with values for their parameters, if values for all of them can be listed."""
    values = _values(context)
    for name, function, _ in _protocols():
        parameters = list(signature(function).parameters)[1:]
        if hasattr(plugin, name) and all(parameter in values for parameter in parameters):
            chosen = product(*(values[parameter] for parameter in parameters))
            yield from ((name, each) for each in islice(chosen, MAX_CALLS))


def _values(context: PluginContext) -> dict[str, Sequence[Any]]:
    """Values of parameters, by the names in the protocols."""
    cluster = context.cluster
    groups, tasks = range(len(cluster.pod_groups)), range(len(cluster.tasks))
    shares = [(0, 0, 0), (1000, 10**9, 1000)]
    counts = [0] * (1 + max(s.index for group in cluster.pod_groups for s in group.pod_sets))
    return {
        "action": context.guarded_actions.actions,
        "pod_group": groups,
        "preemptor": groups,
        "victim": groups,
        "pod_groups": [list(groups)],
        "victims": [list(groups)],
        "task": tasks,
        "tasks": [group.tasks for group in cluster.pod_groups],
        "queue": [queue.index for queue in cluster.queues if queue.is_leaf],
        "demand": shares,
        "request": shares,
        "popped": shares,
        "active": [counts],
        "name": ["a"],
        "count": [0, 1],
        "threshold": [0, 1],
        "shape": cluster.shapes,
        "node": cluster.nodes,
        "node_index": range(len(cluster.nodes)),
        "device": [FreeDevice("", cluster.nodes[0].gpu_memory_mib, cluster.nodes[0].gpu_memory_mib)]
        if cluster.nodes
        else [],
        "used": [0.0, 0.5],
    }


def _result(plugin: Any, name: str, values: Iterable[Any]) -> Any:
    """Result of a call, comparable."""
    method: Callable[..., Any] = getattr(plugin, name)
    found = method(*values)
    if callable(found):
        return "a function"
    return list(found) if isinstance(found, Iterator) else found
