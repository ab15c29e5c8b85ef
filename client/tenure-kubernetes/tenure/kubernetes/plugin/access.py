"""Options, errors and the connection of `kubectl tenure`.

The user's own credentials decide what is shown: each fact is read from the API server with them.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, NoReturn
from urllib.parse import quote

import typer
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError
from tenure.kubernetes.api.api_errors import ApiError, NotFound, RequestRejected
from tenure.kubernetes.api.transport import Transport
from tenure.process.options import Output
from tenure.wire.violations import printable_lines


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    DONE = 0
    NO = 1
    """The answer is no: it would not start (what-if), or manifests need attention (migrate)."""
    INVALID = 2
    """Invalid command line, file or kubeconfig, or no object of the name."""
    FAILURE = 3
    """The API server failed; the same command may succeed later."""
    FORBIDDEN = 4
    """The rights of the user do not suffice."""


Namespace = Annotated[
    str | None,
    typer.Option("-n", "--namespace", metavar="NAME", help="Namespace. Default: that of the context."),
]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces.")]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Path to the kubeconfig. Default: kubectl's search path."),
]
Context = Annotated[
    str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig. Default: the current one.")
]
OutputFormat = Annotated[Output, typer.Option("-o", "--output", help="Output format.")]
TenureNamespace = Annotated[
    str,
    typer.Option(metavar="NAME", help="Namespace of Tenure, whose ConfigMap `tenure` has its configuration."),
]
TENURE_NAMESPACE = "tenure-system"


class KubeApi(NamedTuple):
    """The API server with the credentials of the user, and the namespace of the command."""

    transport: Transport
    namespace: str

    def read(self, path: str) -> dict[str, Any]:
        """An object or a list. Raises ApiError."""
        found: dict[str, Any] = json.loads(self.transport.get(path))
        return found

    def items(self, version: str, resource: str, namespace: str | None) -> list[dict[str, Any]]:
        """Objects of a resource; of all namespaces, or outside of namespaces, if `namespace` is None.

        Without the resource on the API server there are none. Raises ApiError.
        """
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        within = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
        try:
            found: list[dict[str, Any]] = self.read(f"{base}{within}/{resource}")["items"]
        except NotFound:
            return []
        return found


@contextmanager
def connect(kubeconfig: Path | None, context: str | None, namespace: str | None) -> Iterator[KubeApi]:
    """Connect, and end the command with a message and an exit code if a call fails."""
    try:
        known = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        config = known.get(context)
        transport = Transport(kubeconfig, context)
    except (ConfigError, OSError, RuntimeError) as error:
        fail(ExitCode.INVALID, f"no usable kubeconfig: {error}")
    try:
        yield KubeApi(transport, namespace or (config.namespace if config else "") or "default")
    except RequestRejected as failure:
        if failure.status in (HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED):
            fail(ExitCode.FORBIDDEN, f"not permitted: {failure}")
        fail(ExitCode.INVALID, str(failure))
    except NotFound as failure:
        fail(ExitCode.INVALID, str(failure))
    except ApiError as failure:
        fail(ExitCode.FAILURE, f"API server request failed: {failure}")
    finally:
        transport.close()


_WELL_KNOWN: Final = {
    "pod": ("v1", "pods"),
    "job": ("batch/v1", "jobs"),
    "cronjob": ("batch/v1", "cronjobs"),
    "deployment": ("apps/v1", "deployments"),
    "statefulset": ("apps/v1", "statefulsets"),
    "queue": ("scheduling.run.ai/v2", "queues"),
    "queue.scheduling.run.ai": ("scheduling.run.ai/v2", "queues"),
    "queue.scheduling.volcano.sh": ("scheduling.volcano.sh/v1beta1", "queues"),
    "podgroup": ("scheduling.run.ai/v2alpha2", "podgroups"),
    "podgroup.scheduling.run.ai": ("scheduling.run.ai/v2alpha2", "podgroups"),
    "podgroup.scheduling.volcano.sh": ("scheduling.volcano.sh/v1beta1", "podgroups"),
}
"""API version and resource by kind; others are looked up."""


def find_resource(api: KubeApi, kind: str) -> tuple[str, str]:
    """API version and resource of a kind, by its singular or plural name, with or without its group."""
    name, _, group = kind.partition(".")
    for candidate in (kind, f"{name.removesuffix('s')}.{group}" if group else name.removesuffix("s")):
        if candidate in _WELL_KNOWN:
            return _WELL_KNOWN[candidate]
    groups = api.read("/apis")["groups"]
    for one in groups:
        if group and one["name"] != group:
            continue
        for version in [one["preferredVersion"], *(one["versions"] if group else [])]:
            for resource in api.read(f"/apis/{version['groupVersion']}").get("resources", []):
                known = (resource["name"], resource.get("singularName"), resource["kind"].lower())
                if name in known and resource.get("namespaced") and "/" not in resource["name"]:
                    return version["groupVersion"], resource["name"]
    return fail(ExitCode.INVALID, f"the API server has no kind {kind!r} in namespaces")


def is_forbidden(failure: ApiError) -> bool:
    """Whether the user lacks a right."""
    return isinstance(failure, RequestRejected) and failure.status == HTTPStatus.FORBIDDEN


def fail(code: ExitCode, message: str) -> NoReturn:
    """End the command."""
    print(printable_lines(f"kubectl tenure: {message}"), file=sys.stderr)
    raise typer.Exit(code)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2))
