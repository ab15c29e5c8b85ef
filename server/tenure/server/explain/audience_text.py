"""Texts for three audiences (public, tenant, operator), and names and reasons in them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tenure.solver.framework.invalid_queue import queue_problem
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.custom_reason import qualified
from tenure.terms.durations import SECOND
from tenure.terms.reasons import REASONS, UNKNOWN_CLAUSE, ReasonCode
from tenure.v1.explain_pb2 import Explanation

STEP: Final = 300 * SECOND


class AudienceText(NamedTuple):
    """One text in three forms, one for each audience."""

    public: str
    """Without names of other pod groups, queues or nodes."""
    tenant: str
    """With the names of the pod group's queue and its ancestors."""
    operator: str
    """With all names."""

    def message(self) -> Explanation:
        """Message of the response."""
        return Explanation(**self._asdict())


NOTHING = AudienceText("", "", "")


def for_all(text: str) -> AudienceText:
    """A text without names, for every audience."""
    return AudienceText(text, text, text)


def for_operators(text: str) -> AudienceText:
    """A text for operators, empty for the others."""
    return AudienceText("", "", text)


def format_text(template: str, **parts: "AudienceText | str | int") -> AudienceText:
    """Fill a template for every audience with the parts for that audience."""
    texts = []
    for audience in range(len(AudienceText._fields)):
        own = {
            name: part[audience] if isinstance(part, AudienceText) else part for name, part in parts.items()
        }
        texts.append(template.format(**own))
    return AudienceText(*texts)


def join(parts: Iterable[AudienceText], separator: str = " ") -> AudienceText:
    """Concatenate parts, without those that are empty for an audience."""
    columns = list(zip(*parts, strict=True)) or [(), (), ()]
    return AudienceText(*(separator.join(filter(None, column)) for column in columns))


def capital(text: AudienceText) -> AudienceText:
    """Capitalize the first letter."""
    return AudienceText(*(part[:1].upper() + part[1:] for part in text))


def moment(nanoseconds: int) -> str:
    """A time as `2025-03-03 10:42:00 UTC`, with a fraction if there is one."""
    seconds, fraction = divmod(nanoseconds, SECOND)
    parts = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}{parts} UTC"


def rounded_up(nanoseconds: int) -> int:
    """A time that rests on expected runtimes, rounded up to five minutes (semantics R17.23)."""
    return -(-nanoseconds // STEP) * STEP


class AudienceNames:
    """Names in texts for the owner of one pod group."""

    def __init__(self, cluster: Cluster, own: int) -> None:
        self.cluster = cluster
        self.own = own
        queue = cluster.pod_groups[own].queue
        self._own_queues = () if queue is None else cluster.queues[queue].path

    def pod_group(self, index: int) -> AudienceText:
        """`pod group NAME`; other pod groups are `another workload` except for operators."""
        group = self.cluster.pod_groups[index]
        if index == self.own:
            name = f"pod group {group.facts.name}"
            in_queue = f"{name} (queue {group.facts.queue_name})"
            return AudienceText(name, in_queue, in_queue)
        own_queue = self.cluster.pod_groups[self.own].queue
        in_queue = " of its queue" if group.queue is not None and group.queue == own_queue else ""
        other = f"another workload{in_queue}"
        return AudienceText(other, other, f"pod group {group.facts.name} (queue {group.facts.queue_name})")

    def queue(self, index: int) -> AudienceText:
        """`queue NAME`; tenants read it of their own queue and its ancestors only."""
        name = f"queue {self.cluster.queues[index].facts.name}"
        if index not in self._own_queues:
            return AudienceText("another queue", "another queue", name)
        is_leaf = index == self._own_queues[-1]
        return AudienceText("its queue" if is_leaf else "an ancestor of its queue", name, name)

    def queue_by_name(self, name: str) -> AudienceText:
        """Same as `queue`, by name."""
        known = next((q.index for q in self.cluster.queues if q.facts.name == name), None)
        return AudienceText("a queue", "a queue", f"queue {name}") if known is None else self.queue(known)

    def node(self, index: int) -> AudienceText:
        """`node NAME` for operators, else `a node`."""
        return AudienceText("a node", "a node", f"node {self.cluster.nodes[index].facts.name}")

    def source(self, guard: str, source: str) -> AudienceText:
        """Source of a guard's verdict.

        Those of built-in guards name queues only. A guard of another package may name anything, which only
        operators may read.
        """
        queue = next(
            (queue.index for queue in self.cluster.queues if source == f"queue {queue.facts.name}"), None
        )
        if queue is not None:
            return self.queue(queue)
        if not source:
            return for_all("a rule")
        return for_all(source) if guard in BUILT_IN.plugins else AudienceText("a rule", "a rule", source)


_DESCRIBED: Final = (ReasonCode.QUEUE_ORDER, ReasonCode.FRAGMENTED)
"""Of the search: sentences about capacity follow, which say more than the detail (`capacity_text`)."""
_COUNTED: Final = ("it needs ", (" are free", "would free enough"))
"""Begin and ends of a detail that an account of GPUs follows, which says more."""


def explain_pending(
    cluster: Cluster, names: AudienceNames, pod_group: int, rejection: Rejection
) -> AudienceText:
    """Clause: why a pod group is pending or cannot evict. Operators read the detail of the rule."""
    group = cluster.pod_groups[pod_group]
    queue = for_all("its queue") if group.queue is None else names.queue(group.queue)
    custom = rejection.custom
    clause = custom.clause if custom is not None else REASONS[rejection.code].clause or UNKNOWN_CLAUSE
    text = format_text(clause, queue=queue)
    detail = rejection.detail.rstrip(".")
    is_for_owner = rejection.for_owner and pod_group == names.own
    is_search = rejection.source == "search"
    is_counted = detail.startswith(_COUNTED[0]) and detail.endswith(_COUNTED[1])
    is_described = is_search and (rejection.code in _DESCRIBED or is_counted)
    if rejection.code is ReasonCode.INVALID_QUEUE and group.queue is None:
        problem = queue_problem(cluster, group)
        is_own = pod_group == names.own
        text = AudienceText(problem, detail if is_own else problem, detail)
    elif is_for_owner and rejection.code is not ReasonCode.NO_CAPACITY:
        text = AudienceText(text.public, detail, detail)
    elif custom is not None or (detail and detail not in text.operator and not is_described):
        tenant = f"{text.tenant} ({detail})" if is_for_owner else text.tenant
        text = AudienceText(text.public, tenant, f"{text.operator} ({_signed(rejection)})")
    return join([text, _until(rejection)])


def usual_remedy(cluster: Cluster, names: AudienceNames, rejection: Rejection) -> AudienceText:
    """What usually helps a pod group that is pending for this reason, as a sentence, or nothing."""
    queue = cluster.pod_groups[names.own].queue
    named = for_all("its queue") if queue is None else names.queue(queue)
    custom = rejection.custom
    remedy = format_text(REASONS[rejection.code].remedy if custom is None else custom.remedy, queue=named)
    return format_text("Usual remedy: {remedy}.", remedy=remedy) if remedy.public else NOTHING


def eviction_rule(registry: Registry, action: str, reason: ReasonCode | None) -> str:
    """Clause: why an action evicts. `reason` is None for an action that the registry does not have."""
    custom = registry.reasons.evictions.get(action)
    known = "" if reason is None else REASONS[reason].victim_clause
    return (known if custom is None else custom.clause) or "the rules of the action allow it"


_WITH_DETAIL: Final = (ReasonCode.PROTECTED, ReasonCode.DISRUPTION_BUDGET, ReasonCode.EVICTION_RATE)
"""Reasons of victims whose detail says more than their clause."""


def explain_not_evicted(
    names: AudienceNames, rejection: Rejection, action: str, verdict: GuardVerdict | None
) -> AudienceText:
    """Clause: why a pod group is not evicted. `verdict` is that of a guard that protects it, or None."""
    reason = REASONS[rejection.code]
    known = reason.victim_clause or reason.clause or UNKNOWN_CLAUSE
    text = format_text(
        known if rejection.custom is None else rejection.custom.clause,
        action=action,
        queue="its queue",
    )
    has_detail = not reason.victim_clause or rejection.code in _WITH_DETAIL
    if rejection.custom is not None or (rejection.detail and has_detail):
        text = AudienceText(text.public, text.tenant, f"{text.operator} ({_signed(rejection)})")
    if verdict is None:
        return join([text, _until(rejection)])
    if verdict.scope is ProtectionScope.CORE:
        if rejection.code is ReasonCode.NON_PREEMPTIBLE:
            text = for_all("its minimum is non-preemptible")
        text = format_text("{text}, and it has no surplus", text=text)
    end = f"until {moment(verdict.until)}, " if verdict.until is not None else ""
    return format_text(
        "{text} ({end}set by {source})",
        text=text,
        end=end,
        source=names.source(verdict.guard, verdict.source),
    )


def _until(rejection: Rejection) -> AudienceText:
    return for_all("" if rejection.until is None else f"(until {moment(rejection.until)})")


def _signed(rejection: Rejection) -> str:
    """Detail of a rule, with its plugin or action, and the code that it declares."""
    detail = rejection.detail.rstrip(".")
    if rejection.custom is not None:
        code = qualified(rejection.source, rejection.custom.code)
        return f"{code}: {detail}" if detail else code
    return f"{rejection.source}: {detail}" if rejection.source else detail
