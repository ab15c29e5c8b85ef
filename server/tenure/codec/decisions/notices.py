"""Encode notices and their withdrawals."""

from collections.abc import Callable
from typing import Final

from tenure.codec.encoding_cache import EncodingCache, Identifiers, quoted
from tenure.codec.messages import ReasonMessages, encode_guard_verdict, encode_reason
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import DecisionGroup, Evict
from tenure.solver.model.fate import NoticeSignal
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.wire.writer import message, number, tag, text

_DECISIONS: Final = tag(pb.DecisionGroup, "decisions")
_GROUP_EVICT_TIME: Final = tag(pb.DecisionGroup, "evict_time")
_ID: Final = tag(pb.Decision, "id")
_NOTIFY: Final = tag(pb.Decision, "notify")
_WITHDRAW: Final = tag(pb.Decision, "withdraw_notice")
_REASON: Final = tag(pb.Decision, "reason")
_PRECONDITIONS: Final = tag(pb.Decision, "preconditions")
_POD: Final = tag(pb.Notify, "pod")
_NODE: Final = tag(pb.Notify, "node")
_POD_GROUP: Final = tag(pb.Notify, "pod_group")
_PREEMPTOR: Final = tag(pb.Notify, "preemptor")
_EVICT_TIME: Final = tag(pb.Notify, "evict_time")
_SIGNAL: Final = tag(pb.Notify, "signal")
_GUARDS: Final = tag(pb.Notify, "guards")
_WITHDRAWN: Final = tag(pb.WithdrawNotice, "pod")
_OF: Final = tag(pb.WithdrawNotice, "pod_group")
_FOR: Final = tag(pb.WithdrawNotice, "preemptor")
_CHECKPOINT: Final = number(NoticeSignal.CHECKPOINT)
_NOTHING: Final = text("")


class NoticeEncoder:
    """Encodes the notices of one response."""

    def __init__(
        self,
        cluster: Cluster,
        cache: EncodingCache,
        messages: ReasonMessages,
        preconditions: Callable[[bytes, bytes], bytes],
    ) -> None:
        self._cluster, self._cache, self._messages = cluster, cache, messages
        self._preconditions = preconditions

    def encode(self, ids: Identifiers, group: DecisionGroup) -> list[bytes]:
        """Decisions of a group: its notices, then withdrawals; and the time of the evictions."""
        fields: list[bytes] = []
        for step in group.notices.evictions:
            fields += [_DECISIONS, self._notify(ids, group, step)]
        for task in group.notices.withdrawn:
            fields += [_DECISIONS, self._withdraw(ids, group, task)]
        if group.notices.evict_time:
            fields += [_GROUP_EVICT_TIME, self._cache.moment(group.notices.evict_time)]
        return fields

    def _notify(self, ids: Identifiers, group: DecisionGroup, step: Evict) -> bytes:
        cache, task = self._cache, self._cluster.tasks[step.task]
        pod, node, end = text(task.facts.uid), cache.node(step.node), group.notices.evict_time
        fields = [_POD, pod, _NODE, node.encoded, _POD_GROUP, cache.pod_group(task.pod_group).encoded]
        fields += [_PREEMPTOR, cache.pod_group(group.beneficiary).encoded, _EVICT_TIME, cache.moment(end)]
        fields += [_SIGNAL, _CHECKPOINT]
        for verdict in step.guards:
            fields += [_GUARDS, encode_guard_verdict(cache, verdict)]
        custom = cache.reasons.evictions.get(group.action)
        sentence = self._messages.notice(group.reason, step, group.beneficiary, custom)
        reason = encode_reason(cache, ReasonCode.NOTICE_GIVEN, sentence, group.action, end)
        id = ids.decision(quoted("notify"), quoted(task.facts.uid), node.quoted)
        checks = self._preconditions(pod, node.encoded)
        return message([_ID, id, _NOTIFY, message(fields), _REASON, reason, _PRECONDITIONS, checks])

    def _withdraw(self, ids: Identifiers, group: DecisionGroup, index: int) -> bytes:
        cache, task = self._cache, self._cluster.tasks[index]
        fields = [_WITHDRAWN, text(task.facts.uid), _OF, cache.pod_group(task.pod_group).encoded]
        fields += [_FOR, cache.pod_group(group.beneficiary).encoded]
        sentence = self._messages.withdrawal(index)
        reason = encode_reason(cache, ReasonCode.NOT_NEEDED, sentence, group.action)
        id = ids.decision(quoted("withdraw_notice"), quoted(task.facts.uid))
        checks = self._preconditions(_NOTHING, _NOTHING)
        return message([_ID, id, _WITHDRAW, message(fields), _REASON, reason, _PRECONDITIONS, checks])
