"""The configured retention of eviction records, and how long the plugins use them."""

from pathlib import Path

import pytest
from tenure.server.settings import ConfigurationError, load_settings
from tenure.terms.durations import SECOND


def load_arguments(tmp_path: Path, retention: str, arguments: str) -> Path:
    file = tmp_path / "tenure.yaml"
    file.write_text(
        f"plugins: {{evictionbackoff: {{{arguments}}}}}\noptions: {{evictionHistoryRetention: {retention}}}\n"
    )
    return file


def test_the_retention_is_read(tmp_path: Path) -> None:
    settings = load_settings(load_arguments(tmp_path, "2h", "cooldown: 2h"))
    assert settings.profile.options.eviction_history_retention == 7200 * SECOND


@pytest.mark.parametrize(
    ("retention", "arguments", "fault"),
    [
        ("10m", "", "10m is too short; evictionbackoff protects for up to 1h: use that or more"),
        ("2h", "maxBackoff: 1d", "2h is too short; evictionbackoff protects for up to 1d: use that or more"),
        ("never", "", "'never' is not a duration: write it like 30s, 1h30m or 2d"),
    ],
)
def test_retention_shorter_than_the_guard_needs_prevents_the_start(
    tmp_path: Path, retention: str, arguments: str, fault: str
) -> None:
    file = load_arguments(tmp_path, retention, arguments)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file)
    assert str(caught.value) == f"{file}: options.evictionHistoryRetention: {fault}"
