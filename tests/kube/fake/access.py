"""Who asks, by token, and what roles let them do."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

from tests.kube.controlplane import ADAPTER_TOKEN, ADMIN_TOKEN
from tests.kube.fake import kinds, refusals
from tests.kube.fake.request import Request
from tests.kube.fake.store import Item, Key, Store

_MASTERS = "system:masters"


class User(NamedTuple):
    """Whoever a token belongs to."""

    name: str
    groups: tuple[str, ...]


class Access:
    """Knows the tokens of the tests and those that were asked for. Hold the store while asking."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users = {
            ADMIN_TOKEN: User("admin", (_MASTERS,)),
            ADAPTER_TOKEN: User("adapter", (_MASTERS,)),
        }

    def user(self, token: str) -> User:
        """Whose token it is. Raises Refusal."""
        if token not in self._users:
            raise refusals.unauthorized()
        return self._users[token]

    def new_token(self, account: Key) -> str:
        """A token of a service account. Raises Refusal."""
        if self._store.find(account) is None:
            raise refusals.not_found(account.resource, account.name)
        token, where = uuid4().hex, f"system:serviceaccounts:{account.namespace}"
        name = f"system:serviceaccount:{account.namespace}:{account.name}"
        self._users[token] = User(name, ("system:serviceaccounts", where))
        return token

    def check(self, user: User, request: Request) -> None:
        """Raises Refusal unless a role lets the user do it."""
        if _MASTERS in user.groups or any(_permits(rule, request) for rule in self._rules(user, request)):
            return
        resource = request.resource
        where = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
        why = (
            f'User "{user.name}" cannot {request.verb} resource "{request.what}" in API group '
            f'"{resource.group}" {where}'
        )
        raise refusals.forbidden(resource, request.name, why)

    def _rules(self, user: User, request: Request) -> Iterator[dict[str, Any]]:
        """All rules that count for the user where the request goes."""
        bindings = list(self._store.all(kinds.CLUSTER_ROLE_BINDINGS).items())
        if request.namespace:
            local = self._store.all(kinds.ROLE_BINDINGS).items()
            bindings += [(key, one) for key, one in local if key.namespace == request.namespace]
        for key, binding in bindings:
            if any(_is(subject, user) for subject in binding.get("subjects", [])):
                role = self._role(binding["roleRef"], key.namespace)
                yield from (role or {}).get("rules", [])

    def _role(self, reference: dict[str, str], namespace: str) -> Item | None:
        if reference["kind"] == "ClusterRole":
            return self._store.find(Key(kinds.CLUSTER_ROLES, "", reference["name"]))
        return self._store.find(Key(kinds.ROLES, namespace, reference["name"]))


def _is(subject: dict[str, str], user: User) -> bool:
    match subject["kind"]:
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
        case "Group":
            return subject["name"] in user.groups
        case _:
            return subject["name"] == user.name


def _permits(rule: dict[str, Any], request: Request) -> bool:
    def names(field: str, wanted: str) -> bool:
        return bool({"*", wanted} & set(rule.get(field, [])))

    is_meant = not rule.get("resourceNames") or request.name in rule["resourceNames"]
    return (
        is_meant
        and names("verbs", request.verb)
        and names("apiGroups", request.resource.group)
        and names("resources", request.what)
    )
