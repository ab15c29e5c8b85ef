"""Limits of users, accounts and QOS that Slurm enforces when jobs start, and the jobs that exceed them.

slurmctld has them in memory, but those for each user or account of a QOS only of users that have jobs in it:
slurmdbd has all of these. A limit of the QOS of the partition precedes that of the QOS of the job, and both
precede those of accounts. Limits of used time are not known here: A trial release tells of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.slurm.observe.rows import JobRow
from tenure.slurm.observe.tres import read_tres

JOBS: Final = "jobs"
"""Counted like a resource: the number of running jobs."""
ALL: Final = "*"
QOS_FORMAT: Final = "Name,MaxTRESPU,MaxJobsPU,MaxTRESPA,MaxJobsPA"
"""Fields of `sacctmgr -nP show qos` that `read_bounds` reads."""
Amounts = Mapping[str, int]
"""Amounts by resource, such as `gres/gpu`; memory in MiB."""
_FIELD: Final = re.compile(r"(\w+)=(\S*)")
_PART: Final = re.compile(r"(\S+)=\{([^}]*)\}")
_ID: Final = re.compile(r"\((\d+)\)$")
_NUMBER: Final = re.compile(r"(\d+)(?:\(\d+\))?")
_NONE: Final[Amounts] = {}


class _Limits(NamedTuple):
    """Limits of one record."""

    group: Amounts = _NONE
    """Of all its jobs together."""
    job: Amounts = _NONE
    node: Amounts = _NONE


class _Qos(NamedTuple):
    limits: _Limits
    users: Mapping[str, Amounts]
    """By user id; ALL: every other one."""
    accounts: Mapping[str, Amounts]

    def of_user(self, user: str) -> Amounts:
        """Limits of one user."""
        return self.users.get(user, self.users.get(ALL, _NONE))

    def of_account(self, account: str) -> Amounts:
        """Limits of one account."""
        return self.accounts.get(account, self.accounts.get(ALL, _NONE))


class _Account(NamedTuple):
    parent: str
    limits: _Limits


class Bound(NamedTuple):
    """A limit that concerns a job."""

    name: str
    """As administrators set it, such as `MaxTRESPerUser`."""
    owner: str
    """Such as `QOS night`."""
    counted: tuple[str, ...]
    """Equal for jobs that count together; empty: each job for itself."""
    amounts: Amounts

    def describe(self, resource: str) -> str:
        """The limit of a resource, in words."""
        most = self.amounts[resource]
        name = self.name.replace("TRES", "Jobs") if resource == JOBS else f"{self.name}={resource}"
        return f"{name}={most} of {self.owner}"


class Bounds(NamedTuple):
    """All limits of a cluster. Equal if no limit was changed."""

    qos: Mapping[str, _Qos] = {}
    accounts: Mapping[str, _Account] = {}
    users: Mapping[tuple[str, str], _Limits] = {}
    """By account and user id."""
    partitions: Mapping[str, str] = {}
    """QOS of partitions that have one."""

    def find(self, job: JobRow) -> Sequence[Bound]:
        """Limits that decide whether a job may start."""
        return _without_preceded(self.find_all(job))

    def find_all(self, job: JobRow) -> Sequence[Bound]:
        """Limits whose use a running job adds to, also where another limit decided about the job itself."""
        user, account = str(job.user_id), job.account or ""
        names = (self.partitions.get(job.partition.partition(",")[0], ""), job.qos or "")
        known = [(name, self.qos[name]) for name in dict.fromkeys(names) if name in self.qos]
        found: list[Bound] = []
        for name, qos in known:
            owner = f"QOS {name}"
            found += [
                Bound("GrpTRES", owner, ("qos", name), qos.limits.group),
                Bound("MaxTRESPerUser", owner, ("qos", name, "user", user), qos.of_user(user)),
                Bound(
                    "MaxTRESPerAccount",
                    owner,
                    ("qos", name, "account", account),
                    qos.of_account(account),
                ),
                Bound("MaxTRESPerJob", owner, (), qos.limits.job),
                Bound("MaxTRESPerNode", owner, (), qos.limits.node),
            ]
        of_user = self.users.get((account, user), _Limits())
        owner = f"the user in account {account}"
        found += [
            Bound("GrpTRES", owner, ("user", account, user), of_user.group),
            Bound("MaxTRESPerJob", owner, (), of_user.job),
            Bound("MaxTRESPerNode", owner, (), of_user.node),
        ]
        passed = set[str]()
        while (row := self.accounts.get(account)) is not None and account not in passed:
            passed.add(account)
            found.append(Bound("GrpTRES", f"account {account}", ("account", account), row.limits.group))
            account = row.parent
        return found


def _without_preceded(bounds: Iterable[Bound]) -> list[Bound]:
    """Bounds without what a bound of the same name, and of another kind, decides before."""
    decided: dict[tuple[str, str], str] = {}
    left: list[Bound] = []
    for bound in bounds:
        kind = bound.owner if bound.owner.startswith("QOS ") else ""
        amounts = {
            resource: most
            for resource, most in bound.amounts.items()
            if decided.setdefault((bound.name, resource), kind) == kind
        }
        if amounts:
            left.append(bound._replace(amounts=amounts))
    return left


def read_bounds(listing: bytes, partitions: Iterable[Mapping[str, str]], of_all: bytes = b"") -> Bounds:
    """Limits of `scontrol -o show assoc_mgr`, of the QOS of partitions, and those of QOS for each user."""
    each = {
        row[0]: row[1:] for row in (line.split("|") for line in of_all.decode(errors="replace").split("\n"))
    }
    qos: dict[str, _Qos] = {}
    accounts: dict[str, _Account] = {}
    users: dict[tuple[str, str], _Limits] = {}
    for line in listing.decode(errors="replace").splitlines():
        if line.startswith("QOS="):
            own, _, more = line.partition(" Account Limits=")
            of_accounts, _, of_users = more.partition(" User Limits=")
            fields = dict(_FIELD.findall(own))
            name = _ID.sub("", fields["QOS"])
            user, most, account, most_of_account = each.get(name, [""] * 4)[:4]
            users_of = {ALL: _with_jobs(user, most), **_parts(of_users, "PU")}
            accounts_of = {ALL: _with_jobs(account, most_of_account), **_parts(of_accounts, "PA")}
            qos[name] = _Qos(_limits(fields), users_of, accounts_of)
        elif " Account=" in line:
            fields = dict(_FIELD.findall(line))
            account, found = fields["Account"], _ID.search(fields.get("UserName", ""))
            if found is None:
                parent = _ID.sub("", fields.get("ParentAccount", ""))
                accounts[account] = _Account(parent, _limits(fields))
            elif not fields.get("Partition"):
                users[account, found[1]] = _limits(fields)
    of_partitions = {row.get("PartitionName", ""): row.get("QoS", "N/A") for row in partitions}
    return Bounds(qos, accounts, users, {name: one for name, one in of_partitions.items() if one != "N/A"})


def _limits(fields: Mapping[str, str]) -> _Limits:
    group = {**_amounts(fields.get("GrpTRES", ""))}
    for name in ("GrpJobs", "MaxJobs"):
        if (most := _NUMBER.fullmatch(fields.get(name, ""))) is not None:
            group[JOBS] = min(int(most[1]), group.get(JOBS, int(most[1])))
    return _Limits(group, _amounts(fields.get("MaxTRESPJ", "")), _amounts(fields.get("MaxTRESPN", "")))


def _parts(text: str, suffix: str) -> dict[str, Amounts]:
    """Limits by user or account, as in `5={MaxJobsPU=1(0) MaxTRESPU=cpu=N(2)}`."""
    found: dict[str, Amounts] = {}
    for name, content in _PART.findall(text):
        fields = dict(_FIELD.findall(content))
        found[name] = _with_jobs(fields.get(f"MaxTRES{suffix}", ""), fields.get(f"MaxJobs{suffix}", ""))
    return found


def _with_jobs(resources: str, jobs: str) -> Amounts:
    amounts = {**_amounts(resources)}
    if (most := _NUMBER.fullmatch(jobs)) is not None:
        amounts[JOBS] = int(most[1])
    return amounts


def _amounts(text: str) -> Amounts:
    """Limits by resource in a list such as `cpu=N(0),gres/gpu=16(8)`: N is none, use is in parentheses."""
    pairs = (part.rpartition("=") for part in text.split(","))
    found = ((resource, _NUMBER.fullmatch(amount)) for resource, _, amount in pairs)
    return {resource: int(most[1]) for resource, most in found if most is not None}


class Standing(NamedTuple):
    """What limits say about a waiting job."""

    exceeded: str = ""
    """The limit that it exceeds as long as others run; "": none."""
    contested: str = ""
    """A limit that it would exceed if the waiting jobs before it started; "": none."""


def judge(
    running: Iterable[JobRow],
    waiting: Iterable[tuple[str, JobRow]],
    bounds: Bounds,
    queue_from: str,
) -> dict[str, Standing]:
    """Standings of the waiting jobs, by the name given with each. They are in the order in which they start.

    Limits of the kind of `queue_from` that queues have are left to the server.
    """
    if not (bounds.qos or bounds.accounts):
        return {}
    uses: Counter[tuple[tuple[str, ...], str]] = Counter()
    known: dict[tuple[object, ...], Sequence[Bound]] = {}

    def bounds_of(job: JobRow) -> Sequence[Bound]:
        key = (job.user_id, job.account, job.qos, job.partition)
        if key not in known:
            found = bounds.find(job)
            known[key] = [
                each for each in found if not (each.name == "GrpTRES" and each.counted[:1] == (queue_from,))
            ]
        return known[key]

    counted: dict[tuple[object, ...], Sequence[Bound]] = {}
    for job in running:
        request = _request(job, job.tres_alloc_str or job.tres_req_str)
        key = (job.user_id, job.account, job.qos, job.partition)
        if key not in counted:
            counted[key] = bounds.find_all(job)
        for bound in counted[key]:
            for resource in bound.amounts if bound.counted else ():
                uses[bound.counted, resource] += request.get(resource, 0)
    promised: Counter[tuple[tuple[str, ...], str]] = Counter()
    standings: dict[str, Standing] = {}
    for name, job in waiting:
        of_job = bounds_of(job)
        if not of_job:
            continue
        request = _request(job, job.tres_req_str)
        exceeded, contested = "", ""
        for bound in of_job:
            divisor = request.get("node", 1) or 1 if bound.name == "MaxTRESPerNode" else 1
            for resource, most in bound.amounts.items():
                amount = -(-request.get(resource, 0) // divisor)
                used = uses[bound.counted, resource] if bound.counted else 0
                if amount and used + amount > most:
                    exceeded = exceeded or bound.describe(resource)
                elif amount and bound.counted and used + promised[bound.counted, resource] + amount > most:
                    contested = contested or bound.describe(resource)
        standings[name] = Standing(exceeded, contested)
        if not exceeded and not contested:
            for bound in of_job:
                for resource in bound.amounts if bound.counted else ():
                    promised[bound.counted, resource] += request.get(resource, 0)
    return standings


def _request(job: JobRow, text: str | None) -> dict[str, int]:
    return {**read_tres(text or ""), JOBS: 1}
