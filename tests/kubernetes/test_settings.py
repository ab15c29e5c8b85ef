"""Settings of an adapter, and every error with its path."""

from pathlib import Path

import pytest
from tenure.kubernetes.choices import EvictionMode
from tenure.kubernetes.settings import AdapterSettings, load_adapter_settings
from tenure.server.settings import ConfigurationError

PAGE = Path(__file__).parents[2] / "docs/operate/kubernetes-adapter.md"


def test_the_page_names_every_key() -> None:
    page = PAGE.read_text()
    missing = [
        field.alias for field in AdapterSettings.model_fields.values() if f"`{field.alias}`" not in page
    ]
    assert not missing


def test_example_of_the_page_is_valid(tmp_path: Path) -> None:
    example = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    assert load_adapter_settings(read_settings(tmp_path, example), {}).adapter.lease == "tenure-gpu"


def read_settings(folder: Path, text: str) -> Path:
    file = folder / "adapter.yaml"
    file.write_text(text)
    return file


def test_command_line_overrides_the_file(tmp_path: Path) -> None:
    file = read_settings(
        tmp_path, "adapter:\n  clusterId: prod\n  server: tenure:50051\n  leaseDuration: 30s\n"
    )
    overrides = {"server": "other:1", "cluster_id": None, "eviction_mode": "delete"}
    settings = load_adapter_settings(file, overrides).adapter
    assert (settings.cluster_id, settings.server) == ("prod", "other:1")
    assert settings.lease_duration == 30.0
    assert settings.eviction_mode is EvictionMode.DELETE


@pytest.mark.parametrize(
    ("pool", "name", "lease"),
    [("", None, "tenure"), ("gpu", None, "tenure-gpu"), ("A_100", "mine", "mine")],
)
def test_each_node_pool_has_its_own_lease(pool: str, name: str | None, lease: str) -> None:
    overrides = {"cluster_id": "c", "node_pool": pool, "lease_name": name}
    assert load_adapter_settings(None, overrides).adapter.lease == lease


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("adapter:\n  server: s:1\n", "adapter.clusterId: is missing; set it here or as --cluster-id"),
        ("adapter:\n  clusterId: c\n  servr: s\n", "adapter.servr: unknown key; did you mean server?"),
        ("adapter:\n  clusterId: c\n  leaseDuration: 15\n", "adapter.leaseDuration: '15' is not a duration"),
        (
            "adapter:\n  clusterId: c\n  leaseDuration: -15s\n",
            "adapter.leaseDuration: '-15s' is not a duration of zero or more: write it like 30s, 1h30m or 2d",
        ),
        ("adapter:\n  clusterId: c\n  leaseDuration: 1s\n", "adapter.leaseDuration: must be at least 3s"),
        ("adapter:\n  clusterId: c\n  evictionMode: kill\n", "adapter.evictionMode: "),
        ("adapter:\n  clusterId: c\n  namespace: A\n", "adapter.namespace: must be at most 52 lower-case"),
        ("adapter:\n  clusterId: c\n  healthListen: x\n", "adapter.healthListen: must be HOST:PORT"),
        ("adapter:\n  clusterId: c\n  nodePool: A_1\n", "set leaseName"),
        (
            "adapter:\n  clusterId: c\n  queueAccess: {default: none}\n",
            "adapter.queueAccess.default: ",
        ),
        (
            "adapter:\n  clusterId: c\n  queueAccess: {namespace: {}}\n",
            "adapter.queueAccess.namespace: unknown key; did you mean namespaces?",
        ),
        ("adapter:\n  clusterId: c\n  userQueues: {}\n", "adapter.userQueues.queues: is missing"),
        ("adapter:\n  clusterId: c\n  userQueues: {queues: []}\n", "adapter.userQueues.queues: "),
        (
            "adapter:\n  clusterId: c\n  userQueues: {queues: [a], maxUsers: 1001}\n",
            "adapter.userQueues.maxUsers: ",
        ),
        (
            "adapter:\n  clusterId: c\n  userQueues: {queues: [a], label: x}\n",
            "adapter.userQueues.label: unknown key",
        ),
        ("adapter: []\n", "adapter: must be a mapping"),
        ("actions: []\n", "must have a section `adapter`"),
        ("adapter:\n  clusterId: c\nactions: []\n", "actions: unknown key; known: adapter, telemetry"),
        (
            "adapter:\n  clusterId: c\ntelemetry:\n  logs: {levle: info}\n",
            "telemetry.logs.levle: unknown key; did you mean level?",
        ),
    ],
)
def test_errors_contain_their_path(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_adapter_settings(read_settings(tmp_path, text), {})
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("telemetry", "level"),
    [("", "info"), ("{metricsListen: '127.0.0.1:0'}", "info"), ("{logs: {level: error}}", "error")],
)
def test_log_level_of_an_adapter_defaults_to_info(tmp_path: Path, telemetry: str, level: str) -> None:
    file = read_settings(tmp_path, f"adapter: {{clusterId: c}}\ntelemetry: {telemetry}\n")
    assert load_adapter_settings(file, {}).telemetry.logs.level == level
