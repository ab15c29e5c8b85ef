"""Users by token, and the permissions of their roles."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN, ADMIN_TOKEN
from tests.kubernetes.fake_api_server import errors, resource_kinds
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.store import Item, ObjectKey, ObjectStore

_MASTERS = "system:masters"


class TokenUser(NamedTuple):
    """The user of a token."""

    name: str
    groups: tuple[str, ...]


class Authorizer:
    """Knows the tokens of the tests and requested tokens. Callers lock the store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._users = {
            ADMIN_TOKEN: TokenUser("admin", (_MASTERS,)),
            ADAPTER_TOKEN: TokenUser("adapter", (_MASTERS,)),
        }

    def user(self, token: str) -> TokenUser:
        """Return the user of a token. Raises ApiStatusError."""
        if token not in self._users:
            raise errors.unauthorized()
        return self._users[token]

    def new_token(self, account: ObjectKey) -> str:
        """Create a token of a service account. Raises ApiStatusError."""
        if self._store.find(account) is None:
            raise errors.not_found(account.resource, account.name)
        token, where = uuid4().hex, f"system:serviceaccounts:{account.namespace}"
        name = f"system:serviceaccount:{account.namespace}:{account.name}"
        self._users[token] = TokenUser(name, ("system:serviceaccounts", where))
        return token

    def check(self, user: TokenUser, request: ApiRequest) -> None:
        """Raises ApiStatusError unless a role permits the request."""
        if _MASTERS in user.groups or any(_permits(rule, request) for rule in self._rules(user, request)):
            return
        resource = request.resource
        where = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
        why = (
            f'User "{user.name}" cannot {request.verb} resource "{request.what}" in API group '
            f'"{resource.group}" {where}'
        )
        raise errors.forbidden(resource, request.name, why)

    def _rules(self, user: TokenUser, request: ApiRequest) -> Iterator[dict[str, Any]]:
        """Return all rules that apply to the user for the target of the request."""
        bindings = list(self._store.all(resource_kinds.CLUSTER_ROLE_BINDINGS).items())
        if request.namespace:
            local = self._store.all(resource_kinds.ROLE_BINDINGS).items()
            bindings += [(key, one) for key, one in local if key.namespace == request.namespace]
        for key, binding in bindings:
            if any(_is(subject, user) for subject in binding.get("subjects", [])):
                role = self._role(binding["roleRef"], key.namespace)
                yield from (role or {}).get("rules", [])

    def _role(self, reference: dict[str, str], namespace: str) -> Item | None:
        if reference["kind"] == "ClusterRole":
            return self._store.find(ObjectKey(resource_kinds.CLUSTER_ROLES, "", reference["name"]))
        return self._store.find(ObjectKey(resource_kinds.ROLES, namespace, reference["name"]))


def _is(subject: dict[str, str], user: TokenUser) -> bool:
    match subject["kind"]:
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
        case "Group":
            return subject["name"] in user.groups
        case _:
            return subject["name"] == user.name


def _permits(rule: dict[str, Any], request: ApiRequest) -> bool:
    def names(field: str, wanted: str) -> bool:
        return bool({"*", wanted} & set(rule.get(field, [])))

    is_meant = not rule.get("resourceNames") or request.name in rule["resourceNames"]
    return (
        is_meant
        and names("verbs", request.verb)
        and names("apiGroups", request.resource.group)
        and names("resources", request.what)
    )
