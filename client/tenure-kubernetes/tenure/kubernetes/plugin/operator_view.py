"""What operators see: decisions about the whole cluster, computed here from what they may read.

The cluster is read as the adapter reads it, with the credentials of the user, and `tenure` decides on it
with the configuration in force. Nothing is written, and no server is asked.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import typer
from google.protobuf.json_format import Parse
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.snapshot_file import Format, write_snapshot
from tenure.integration.journal_format import load_journal
from tenure.integration.journal_rows import JournalRows
from tenure.kubernetes.api.api_errors import ApiError, NotFound
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.journal_store import ConfigMapStore
from tenure.kubernetes.objects.meta import OwnerReference
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.kubernetes.owners.chains import Owner, link_of, owner_of
from tenure.kubernetes.owners.lookup import ApiOwnerLookup
from tenure.kubernetes.owners.owner_object import OwnerObject
from tenure.kubernetes.plugin.access import ExitCode, KubeApi, fail, is_forbidden
from tenure.kubernetes.settings import AdapterSettings, load_adapter_settings
from tenure.render.protected import rank_text
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.explain_pb2 import NextTaker, VictimRank
from tenure.v1.snapshot_pb2 import ClusterSnapshot

CONFIG_MAP: Final = "tenure"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_NEEDED: Final = (("", "nodes"), ("", "pods"))
"""What only operators may list everywhere."""


class DraftOwners:
    """Owners of the cluster, and drafts of others by uid. Implements OwnerLookup."""

    def __init__(self, inner: ApiOwnerLookup) -> None:
        self._inner, self.kinds = inner, inner.kinds
        self.drafts: dict[str, OwnerObject] = {}

    def begin(self) -> set[str]:
        """Begin an observation; return uids of changed owners."""
        return self._inner.begin()

    def wait(self) -> float | None:
        """Seconds until the next observation, to find changed owners. None: no matter when."""
        return self._inner.wait()

    def refused_kinds(self) -> Mapping[str, str]:
        """Kinds that may not be read, and why."""
        return self._inner.refused_kinds()

    def unread(self, namespace: str, reference: OwnerReference) -> str:
        """Why an owner or one above it could not be read; "": it could."""
        return self._inner.unread(namespace, reference)

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """The owner of the pods of a draft by its object, of others by the API server."""
        draft = self.drafts.get(reference.uid)
        if draft is None:
            return self._inner.top(namespace, reference)
        return owner_of([link_of(self.kinds, namespace, reference, draft)])


class ClusterView(NamedTuple):
    """The observed cluster, and a folder for files of the commands."""

    settings: AdapterSettings
    caches: ObjectCaches
    owners: DraftOwners
    builder: SnapshotBuilder
    snapshot: ClusterSnapshot
    folder: Path
    config: tuple[str, ...]
    """Options with the configuration in force; empty: the default profile."""

    @property
    def file(self) -> Path:
        """The snapshot."""
        return self.folder / "cluster.binpb"

    def tenure(self, *arguments: str) -> str:
        """Output of a command of `tenure`. A failed one ends this command with its message and exit code."""
        command = [sys.executable, "-m", "tenure.cli", *arguments]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 (no shell)
        if ended.returncode:
            typer.echo(ended.stdout, nl=False)
            raise typer.Exit(ended.returncode)
        return ended.stdout

    def decide(self) -> DecideResponse:
        """The decisions on the snapshot."""
        text = self.tenure("decide", str(self.file), *self.config, "--output", "json")
        return Parse(text, DecideResponse())

    def ranks(self) -> dict[str, str]:
        """Ranks of pod groups as victims, by uid."""
        rows = json.loads(self.tenure("workloads", str(self.file), *self.config, "--output", "json"))
        return {
            row["uid"]: rank_text(_rank(row["as_victim"])) for row in rows["workloads"] if row["as_victim"]
        }


def _rank(row: Mapping[str, Any]) -> VictimRank:
    return VictimRank(
        place=row["place"] or 0,
        cost=row["cost_gpu_seconds"],
        lost=row["lost_gpu_seconds"],
        next_for=[NextTaker(**taker) for taker in row["next_for"]],
    )


def is_operator(api: KubeApi) -> bool:
    """Whether the user may list the nodes and all pods."""
    return all(_may_list(api, group, resource) for group, resource in _NEEDED)


def _may_list(api: KubeApi, group: str, resource: str) -> bool:
    wanted = {"group": group, "resource": resource, "verb": "list"}
    body = {"spec": {"resourceAttributes": wanted}}
    try:
        answer = api.transport.post(_REVIEWS, body)
    except ApiError:
        return False
    return b'"allowed":true' in answer.replace(b" ", b"")


@contextmanager
def view_cluster(api: KubeApi, namespace: str) -> Iterator[ClusterView]:
    """Read the cluster. `namespace` is that of Tenure. Ends the command if the user is no operator."""
    if not is_operator(api):
        fail(ExitCode.FORBIDDEN, "only who may list nodes and the pods of all namespaces can ask this")
    with TemporaryDirectory() as folder:
        settings, config = _settings(api, namespace, Path(folder))
        caches = ObjectCaches.create(lambda: None)
        for reflector in caches.follow(api.transport, settings.unfollowed_collections()):
            reflector.list_once()
        store = ConfigMapStore(api.transport, settings.namespace, settings.lease, lambda: False)
        journal = None
        try:
            journal = load_journal(store)
        except ApiError as failure:
            _note(f"planned starts and the eviction history are not known: {failure}")
        owners = DraftOwners(
            ApiOwnerLookup(
                api.transport, patience=0, kinds=settings.all_owner_kinds(), find_pod=caches.pods.find
            )
        )
        builder = SnapshotBuilder(
            caches, settings.snapshot_scope(), owners, StoredAnnotations(store.signing_key)
        )
        now = Timestamp()
        now.GetCurrentTime()
        snapshot = builder.snapshot(now)
        if journal is not None:
            JournalRows(journal, builder).complete(snapshot)
        view = ClusterView(settings, caches, owners, builder, snapshot, Path(folder), config)
        write_snapshot(snapshot, str(view.file), Format.BINARY)
        yield view


def _settings(api: KubeApi, namespace: str, folder: Path) -> tuple[AdapterSettings, tuple[str, ...]]:
    """The configuration in force, or the default one if it cannot be read."""
    try:
        found: dict[str, Any] = api.read(f"/api/v1/namespaces/{namespace}/configmaps/{CONFIG_MAP}")
    except ApiError as failure:
        if not isinstance(failure, NotFound) and not is_forbidden(failure):
            raise
        _note(f"the default configuration is used: {failure}")
        return AdapterSettings(cluster_id="kubernetes", namespace=namespace), ()
    data = found.get("data") or {}
    for name in ("adapter.yaml", "server.yaml"):
        (folder / name).write_text(data.get(name, "{}"))
    settings = load_adapter_settings(folder / "adapter.yaml", {}).adapter
    return settings, ("--config", str(folder / "server.yaml"))


def _note(text: str) -> None:
    typer.echo(f"kubectl tenure: {text}", err=True)
