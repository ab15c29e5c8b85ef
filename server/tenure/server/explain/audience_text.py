"""Clauses for every reason code: why a pod group waits, may not ask, or may not yield.

Sentences for three kinds of readers: everybody, the owner of the workload, operators.

What things are called, and who may read it.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.terms.durations import SECOND
from tenure.terms.reasons import REASONS, UNKNOWN_CLAUSE, ReasonCode
from tenure.v1.explain_pb2 import Explanation


class AudienceText(NamedTuple):
    """The same said three times."""

    public: str
    """No names of others: neither workloads nor queues nor nodes."""
    tenant: str
    """Names of the own queue and those above it."""
    operator: str
    """Everything."""

    def message(self) -> Explanation:
        """As the contract has it."""
        return Explanation(**self._asdict())


NOTHING = AudienceText("", "", "")


def for_all(text: str) -> AudienceText:
    """A text without any name of others."""
    return AudienceText(text, text, text)


def for_operators(text: str) -> AudienceText:
    """A text that nobody else may read."""
    return AudienceText("", "", text)


def format_text(template: str, **parts: "AudienceText | str | int") -> AudienceText:
    """A template filled for every reader with what that reader may know."""
    told = []
    for reader in range(len(AudienceText._fields)):
        known = {
            name: part[reader] if isinstance(part, AudienceText) else part for name, part in parts.items()
        }
        told.append(template.format(**known))
    return AudienceText(*told)


def join(parts: Iterable[AudienceText], separator: str = " ") -> AudienceText:
    """Parts one after the other; those that say nothing to a reader are left out for that reader."""
    columns = list(zip(*parts, strict=True)) or [(), (), ()]
    return AudienceText(*(separator.join(filter(None, column)) for column in columns))


def capital(text: AudienceText) -> AudienceText:
    """The text as the beginning of a sentence."""
    return AudienceText(*(part[:1].upper() + part[1:] for part in text))


def moment(nanoseconds: int) -> str:
    """A time of any day: `2025-03-03 10:42:00 UTC`, with its fraction when there is one."""
    seconds, fraction = divmod(nanoseconds, SECOND)
    parts = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}{parts} UTC"


_NAMELESS: Final = re.compile(r"(its own|default of|argument) [\w -]+|its priority -?\d+")
"""Sources of a guard's word that name nobody."""


class AudienceNames:
    """The nouns of an answer for the owner of one pod group."""

    def __init__(self, cluster: Cluster, own: int) -> None:
        self._cluster = cluster
        self.own = own
        queue = cluster.pod_groups[own].queue
        self._own_queues = () if queue is None else cluster.queues[queue].path

    def pod_group(self, index: int) -> AudienceText:
        """`pod group NAME`; for all but operators, others are `another workload`."""
        group = self._cluster.pod_groups[index]
        if index == self.own:
            name = f"pod group {group.name}"
            in_queue = f"{name} (queue {group.queue_name})"
            return AudienceText(name, in_queue, in_queue)
        mine = self._cluster.pod_groups[self.own].queue
        near = " of its queue" if group.queue is not None and group.queue == mine else ""
        other = f"another workload{near}"
        return AudienceText(other, other, f"pod group {group.name} (queue {group.queue_name})")

    def queue(self, index: int) -> AudienceText:
        """`queue NAME`, for the owner of the pod group if it is its own or above it."""
        name = f"queue {self._cluster.queues[index].name}"
        if index not in self._own_queues:
            return AudienceText("another queue", "another queue", name)
        is_leaf = index == self._own_queues[-1]
        return AudienceText("its queue" if is_leaf else "a queue above its own", name, name)

    def queue_by_name(self, name: str) -> AudienceText:
        """The same by name."""
        known = next((q.index for q in self._cluster.queues if q.name == name), None)
        return AudienceText("a queue", "a queue", f"queue {name}") if known is None else self.queue(known)

    def node(self, index: int) -> AudienceText:
        """`node NAME`, for operators."""
        return AudienceText("a node", "a node", f"node {self._cluster.nodes[index].name}")

    def source(self, source: str) -> AudienceText:
        """Whose word a guard goes by."""
        if source.startswith("queue "):
            return self.queue_by_name(source.removeprefix("queue "))
        known = for_all(source) if _NAMELESS.fullmatch(source) else AudienceText("a rule", "a rule", source)
        return known if source else for_all("a rule")


_OWN_DETAIL: Final = (ReasonCode.OVER_LIMIT, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA)
"""What proportion says of these names queues above the pod group and nobody else."""


def explain_pending(
    cluster: Cluster, names: AudienceNames, pod_group: int, rejection: Rejection
) -> AudienceText:
    """Why this pod group waits, or may not ask anybody, as a clause; operators read the words of the rule."""
    group = cluster.pod_groups[pod_group]
    queue = for_all("its queue") if group.queue is None else names.queue(group.queue)
    told = format_text(REASONS[rejection.code].clause or UNKNOWN_CLAUSE, queue=queue)
    detail = rejection.detail.rstrip(".")
    is_known = rejection.code in _OWN_DETAIL and rejection.source == "proportion"
    is_given = rejection.code is ReasonCode.BLOCKED and not rejection.source
    if pod_group == names.own and (is_known or is_given):
        told = AudienceText(told.public, detail, detail)
    elif detail and detail not in told.operator:
        told = AudienceText(told.public, told.tenant, f"{told.operator} ({_signed(rejection)})")
    return join([told, _until(rejection)])


def explain_not_evicted(
    names: AudienceNames, rejection: Rejection, action: str, verdict: GuardVerdict | None
) -> AudienceText:
    """Why a pod group is not evicted, as a clause; `verdict` is that of the guard that objects."""
    reason = REASONS[rejection.code]
    told = format_text(
        reason.victim_clause or reason.clause or UNKNOWN_CLAUSE,
        action=action,
        queue="its queue",
    )
    if not reason.victim_clause and rejection.detail:
        told = AudienceText(told.public, told.tenant, f"{told.operator} ({_signed(rejection)})")
    if verdict is None:
        return join([told, _until(rejection)])
    if verdict.scope is ProtectionScope.CORE:
        told = format_text("{told}, and it has nothing beyond its minimum", told=told)
    end = f"until {moment(verdict.until)}, " if verdict.until is not None else ""
    return format_text(
        "{told} ({end}set by {source})", told=told, end=end, source=names.source(verdict.source)
    )


def _until(rejection: Rejection) -> AudienceText:
    return for_all("" if rejection.until is None else f"(until {moment(rejection.until)})")


def _signed(rejection: Rejection) -> str:
    """The words of the rule, and who says them."""
    detail = rejection.detail.rstrip(".")
    return f"{rejection.source}: {detail}" if rejection.source else detail
