"""The served kinds: built-in kinds that tests need, and defined ones."""

from typing import Any, Final, NamedTuple


class Resource(NamedTuple):
    """A kind of objects and its properties."""

    group: str
    """Empty: the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False
    """Whether only a separate path writes its status."""
    has_generation: bool = False
    """Whether changes of its specification are counted."""
    is_defined: bool = False
    """Whether it comes from a definition."""
    may_replace_blindly: bool = True
    """Whether it can be replaced without the version that was read."""

    @property
    def api_version(self) -> str:
        """The API version in objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """The name in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


PODS: Final = Resource("", "v1", "pods", "Pod", has_status=True, has_generation=True)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
BUDGETS: Final = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", has_status=True, has_generation=True
)
PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, has_generation=True
)
DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
_RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = Resource(_RBAC, "v1", "roles", "Role")
CLUSTER_ROLES: Final = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
ROLE_BINDINGS: Final = Resource(_RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLE_BINDINGS: Final = Resource(
    _RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
_BUILT_IN: Final = (
    PODS,
    NAMESPACES,
    BUDGETS,
    PRIORITY_CLASSES,
    DEFINITIONS,
    SERVICE_ACCOUNTS,
    ROLES,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLE_BINDINGS,
    Resource("", "v1", "nodes", "Node", namespaced=False, has_status=True),
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("", "v1", "secrets", "Secret"),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", may_replace_blindly=False),
    Resource("events.k8s.io", "v1", "events", "Event"),
    Resource("batch", "v1", "jobs", "Job", has_status=True, has_generation=True),
    Resource("batch", "v1", "cronjobs", "CronJob", has_status=True, has_generation=True),
    Resource("apps", "v1", "replicasets", "ReplicaSet", has_status=True, has_generation=True),
    Resource("apps", "v1", "deployments", "Deployment", has_status=True, has_generation=True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", has_status=True, has_generation=True),
    Resource("apps", "v1", "daemonsets", "DaemonSet", has_status=True, has_generation=True),
    Resource(
        "", "v1", "replicationcontrollers", "ReplicationController", has_status=True, has_generation=True
    ),
)


class KindRegistry:
    """All kinds that are currently served."""

    def __init__(self) -> None:
        self._resources = {(one.group, one.version, one.plural): one for one in _BUILT_IN}
        self._schemas: dict[Resource, dict[str, Any]] = {}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the kind that is served at a path."""
        return self._resources.get((group, version, plural))

    def in_version(self, group: str, version: str) -> list[Resource]:
        """Return all kinds of one version of a group."""
        return [one for one in self._resources.values() if (one.group, one.version) == (group, version)]

    def schema(self, resource: Resource) -> dict[str, Any] | None:
        """Return the schema of a defined kind; None for built-in kinds."""
        return self._schemas.get(resource)

    def define(self, definition: dict[str, Any]) -> None:
        """Serve all served versions of a definition."""
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                made = Resource(
                    spec["group"],
                    version["name"],
                    spec["names"]["plural"],
                    spec["names"]["kind"],
                    namespaced=spec["scope"] == "Namespaced",
                    has_status="status" in version.get("subresources", {}),
                    has_generation=True,
                    is_defined=True,
                    may_replace_blindly=False,
                )
                self._resources[made.group, made.version, made.plural] = made
                self._schemas[made] = version["schema"]["openAPIV3Schema"]
