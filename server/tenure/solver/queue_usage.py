"""History of queues after a cycle (semantics R18.4)."""

from collections.abc import Iterable, Mapping, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.queue import QueueStatus, QueueUsage
from tenure.solver.model.resources import NO_SHARE
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugins.proportion.plugin import Proportion
from tenure.solver.plugins.proportion.shares import cluster_total
from tenure.solver.plugins.proportion.usage_history import UsageHistory
from tenure.solver.plugins.proportion.usage_settings import PLUGIN, usage_settings


def next_usage(session: Session, profile: Profile, queues: Sequence[QueueStatus]) -> tuple[QueueUsage, ...]:
    """Rows of the history that changed; none if no history is kept.

    While something runs or waits, the averages move, and with them fair shares: so a later cycle is needed.
    """
    settings = usage_settings(_arguments(profile))
    if settings is None:
        return ()
    known = [each.history for each in session.chains.queue_reporters if isinstance(each, Proportion)]
    history = (known and known[0]) or UsageHistory(session.cluster, cluster_total(session.cluster), settings)
    if session.phases.pending or any(status.allocated_after != NO_SHARE for status in queues):
        session.wake_times.append(history.next_wake(settings))
    return history.next_rows(queues, settings)


def with_changed_rows(before: Iterable[QueueUsage], changed: Iterable[QueueUsage]) -> tuple[QueueUsage, ...]:
    """The history with changed rows, by queue."""
    rows = {row.queue: row for row in (*before, *changed)}
    return tuple([rows[queue] for queue in sorted(rows)])


def _arguments(profile: Profile) -> Mapping[str, str]:
    return next((plugin.arguments for plugin in profile.plugins if plugin.name == PLUGIN), {})
