"""The journal store of Kubernetes: one ConfigMap per node pool, with the key that signs annotations.

It is replaced by resource version, so an adapter with an older copy gets a conflict. A deleted ConfigMap is
created again with the whole content.
"""

import logging
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import msgspec
from tenure.integration.ports import JournalConflict
from tenure.kubernetes.api.api_errors import ApiError, Conflict, NotFound
from tenure.kubernetes.api.transport import Transport, require_leadership
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.stored_annotations import KEY_BYTES, new_key

_MAX_BYTES: Final = 1_000_000
"""A ConfigMap holds 2^20 bytes."""
_KEY: Final = "journal"
_SIGNING_KEY: Final = "signing-key"
_SUFFIX: Final = "-journal"
_LOG: Final = logging.getLogger(__name__)


class _ConfigMap(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    binary_data: dict[str, bytes] = {}
    api_version: str = "v1"
    kind: str = "ConfigMap"


_CONFIG_MAPS: Final = msgspec.json.Decoder(_ConfigMap)


class ConfigMapStore:
    """Implements JournalStore. Read once per leadership term, written by the leader only."""

    def __init__(self, transport: Transport, namespace: str, lease: str, may_act: Callable[[], bool]) -> None:
        self._transport = transport
        self._is_leader = may_act
        self._meta = ObjectMeta(name=f"{lease}{_SUFFIX}", namespace=namespace)
        self._collection = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps"
        self._path = f"{self._collection}/{self._meta.name}"
        self._version = ""
        """Resource version of the last copy; "": there is none."""
        self.signing_key = new_key()
        """Signs annotations. Stored beside the journal, so that all adapters of the node pool share it."""

    @property
    def name(self) -> str:
        """Kind, namespace and name."""
        return f"ConfigMap {self._meta.namespace}/{self._meta.name}"

    @property
    def max_bytes(self) -> int:
        """Maximum length of the content."""
        return _MAX_BYTES

    def load(self) -> bytes:
        """The content; b"" if there is no ConfigMap. Raises ApiError."""
        try:
            stored = _CONFIG_MAPS.decode(self._transport.get_patiently(self._path))
        except NotFound:
            self._version = ""
            return b""
        self._version = stored.metadata.resource_version
        key = stored.binary_data.get(_SIGNING_KEY, b"")
        if len(key) == KEY_BYTES:
            self.signing_key = key
        return stored.binary_data.get(_KEY, b"")

    def save(self, content: bytes) -> None:
        """Replace the content. Raises JournalConflict, ApiError and LeaseLost."""
        try:
            self._write(content)
        except ApiError as failure:
            if not self._is_written(content, failure):
                if isinstance(failure, Conflict):
                    raise JournalConflict(str(failure)) from None
                raise

    def _is_written(self, content: bytes, failure: ApiError) -> bool:
        """Whether a failed write had its effect. A conflict without another writer is retried once."""
        try:
            stored = self._read()
        except NotFound:
            stored = _ConfigMap()
        except ApiError:
            return False
        if stored.binary_data.get(_KEY) == content:
            self._version = stored.metadata.resource_version
            return True
        if not isinstance(failure, Conflict) or stored.metadata.resource_version != self._version:
            return False
        try:
            self._write(content)
        except Conflict:
            return False
        return True

    def _read(self) -> _ConfigMap:
        return _CONFIG_MAPS.decode(self._transport.get(self._path))

    def _write(self, content: bytes) -> None:
        try:
            written = self._replace(content) if self._version else self._create(content)
        except NotFound:
            if not self._version:
                raise
            _LOG.warning("%s was deleted; creating it again", self.name)
            self._version = ""
            written = self._create(content)
        self._version = _CONFIG_MAPS.decode(written).metadata.resource_version

    def _create(self, content: bytes) -> bytes:
        with require_leadership(self._is_leader):
            return self._transport.post(self._collection, _ConfigMap(self._meta, self._data(content)))

    def _replace(self, content: bytes) -> bytes:
        meta = msgspec.structs.replace(self._meta, resource_version=self._version)
        with require_leadership(self._is_leader):
            return self._transport.put(self._path, _ConfigMap(meta, self._data(content)))

    def _data(self, content: bytes) -> dict[str, bytes]:
        return {_KEY: content, _SIGNING_KEY: self.signing_key}
