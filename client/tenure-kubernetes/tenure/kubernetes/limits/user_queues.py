"""Queues of users: each user of a team has a leaf queue below that of the team (semantics R19.10).

A user is a namespace, or what an annotation of the pods says. Queues come with the first pod group of a user
and go with the last. Whatever may write the annotation chooses the user, so an admission policy has to guard
it. Without one, a team still has at most `most` users: those with pods on nodes first, then those with the
oldest pod groups. No pod group chooses the queue itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.rows.row_table import RowTable, readable
from tenure.v1 import snapshot_pb2 as pb

SEPARATOR: Final = "/"
"""Between team and user. Names of objects do not contain it, so no queue of the cluster has such a name."""
UNKNOWN: Final = "-"
"""In place of a user: pod groups on nodes without a user, and those without pods. Nothing starts there."""
_USER: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.@]{0,61}[A-Za-z0-9])?")
_NAME: Final = "at most 63 letters, digits and characters of -_.@, with a letter or digit at both ends"
_LONGEST_QUEUE: Final = 253


@dataclass(frozen=True, slots=True)
class UserQueueRules:
    """For which queues users have queues of their own, and what says who a user is. Default: for none."""

    queues: Sequence[str] = ()
    """Patterns."""
    annotation: str = ""
    """Annotation of pods; "": users are namespaces."""
    most: int = 100
    """Maximum number of users of a queue."""

    def has(self, queue: str) -> bool:
        """Whether users have queues below this one."""
        return any(fnmatchcase(queue, pattern) for pattern in self.queues)


class TeamQueues(NamedTuple):
    """The queues of the cluster."""

    rows: Mapping[str, pb.Queue] = {}
    leaves: frozenset[str] = frozenset()
    bounds: Mapping[str, pb.Queue] = {}
    """What a queue of a user has, by team."""


class _Claim(NamedTuple):
    """A pod group of a user."""

    team: str
    user: str
    is_waiting: bool
    """Whether no pod of it is on a node."""
    creation: int


class UserQueues:
    """Users of all teams, by the pod groups that they have. Equal pod groups give equal queues."""

    def __init__(self, rules: UserQueueRules) -> None:
        self._rules, self._most = rules, rules.most
        self._teams, self._has_new_teams = TeamQueues(), False
        self._claims: dict[str, _Claim] = {}
        self._of_team: dict[str, set[str]] = {}
        """Uids of pod groups with a user, by team."""
        self._left_out: dict[str, frozenset[str]] = {}
        """Users beyond the maximum, by team."""
        self._changed: set[str] = set()
        """Teams whose users may differ from those of the last balance."""

    def use_teams(self, teams: TeamQueues, most_queues: int) -> None:
        """Use other queues. All teams have equal parts of the queues that the server accepts besides."""
        self._teams, self._has_new_teams = teams, True
        number = len([queue for queue in teams.leaves if self._rules.has(queue)])
        left = max(most_queues - len(teams.rows) - number, 0)
        most = min(self._rules.most, left // max(number, 1))
        if most != self._most:
            self._most = most
            self._changed.update(self._of_team)

    def names(self, queue: str) -> bool:
        """Whether this is the name of a queue of a user, which no pod group may name."""
        return bool(self._rules.queues) and SEPARATOR in queue

    def team(self, queue: str) -> str:
        """The queue of the team: this one, or the one that this queue of a user belongs to."""
        return queue.partition(SEPARATOR)[0] if self.names(queue) else queue

    def assign(self, row: pb.PodGroup, pods: Sequence[Pod], is_running: bool) -> str:
        """Set the queue of a pod group to that of its user. Returns why its pending pods wait, or "".

        `is_running`: whether pods of it are on nodes. They count in the team, whatever the user is.
        """
        team = row.queue
        if team not in self._teams.leaves or not self._rules.has(team):
            return ""
        user, problem = self._user(row.namespace, team, pods)
        if user:
            self._put(row.uid, _Claim(team, user, not is_running, row.creation_time.ToNanoseconds()))
            if user in self._left_out.get(team, ()):
                problem = f"queue {team!r} has {self._most:,} users already, the most of userQueues.maxUsers"
        row.queue = f"{team}{SEPARATOR}{UNKNOWN if problem or not user else user}"
        return readable(problem)

    def discard(self, uid: str) -> None:
        """Forget a pod group."""
        claim = self._claims.pop(uid, None)
        if claim is not None:
            self._changed.add(claim.team)
            self._of_team[claim.team].discard(uid)

    def take_changes(self) -> set[str]:
        """Uids of pod groups whose user is admitted since the last call, or is not any more."""
        changed, self._changed = self._changed, set()
        found: set[str] = set()
        for team in changed:
            uids = self._of_team[team]
            before, now = self._left_out.pop(team, frozenset()), self._beyond(uids)
            if now:
                self._left_out[team] = now
            found.update([uid for uid in uids if self._claims[uid].user in before ^ now])
            if not uids:
                del self._of_team[team]
        return found

    def take_new_rows(self, groups: RowTable[pb.PodGroup], *, is_due: bool) -> dict[str, pb.Queue] | None:
        """The rows of all queues, if they may have changed since the last call, or are due; else None."""
        if not (is_due or self._has_new_teams or (self._rules.queues and groups.changed)):
            return None
        teams, self._has_new_teams = self._teams, False
        rows = dict(teams.rows)
        for name in {row.queue for row in groups.rows.values()} if self._rules.queues else ():
            team = name.partition(SEPARATOR)[0]
            if SEPARATOR in name and team in teams.bounds and team in teams.leaves:
                rows[name] = pb.Queue()
                rows[name].CopyFrom(teams.bounds[team])
                rows[name].name, rows[name].parent = name, team
        return rows

    def _user(self, namespace: str, team: str, pods: Sequence[Pod]) -> tuple[str, str]:
        """The user of a pod group, or the problem; neither if there are no pods that could say it."""
        key, text = self._rules.annotation, namespace
        if key and not pods:
            return "", ""
        if key:
            oldest = min(pods, key=lambda pod: (str(pod.metadata.creation_timestamp), pod.metadata.uid))
            text = oldest.metadata.annotations.get(key, "")
        if not text:
            return "", f"queue {team!r} has a queue for each user: its pods need the annotation {key}"
        if not _USER.fullmatch(text):
            return "", f"annotation {key}: {text[:64]!r} is not the name of a user: {_NAME}"
        if len(team) + len(text) >= _LONGEST_QUEUE:
            return "", f"queue {team!r} and user {text!r} have more than {_LONGEST_QUEUE - 1} characters"
        return text, ""

    def _put(self, uid: str, claim: _Claim) -> None:
        self._claims[uid] = claim
        self._of_team.setdefault(claim.team, set()).add(uid)
        self._changed.add(claim.team)

    def _beyond(self, uids: set[str]) -> frozenset[str]:
        """Users of a team beyond the maximum."""
        places: dict[str, tuple[bool, int]] = {}
        for claim in map(self._claims.__getitem__, uids):
            place = claim.is_waiting, claim.creation
            places[claim.user] = min(places.get(claim.user, place), place)
        return frozenset(sorted(places, key=lambda user: (places[user], user))[self._most :])
