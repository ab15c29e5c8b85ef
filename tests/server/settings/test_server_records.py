"""The section `records` of the configuration file, and the command-line options that override it."""

from pathlib import Path

import pytest
from tenure.server.settings import ConfigurationError, RecordSettings, load_settings
from tenure.terms.durations import SECOND


def settings(tmp_path: Path, text: str) -> RecordSettings:
    (tmp_path / "c.yaml").write_text(text)
    return load_settings(tmp_path / "c.yaml").records


def test_records_are_retained_for_a_week_by_default(tmp_path: Path) -> None:
    expected = {"enabled": True, "path": None, "max_age": 7 * 86_400 * SECOND, "max_mib": 512}
    assert load_settings(None).records == settings(tmp_path, "records:")
    assert load_settings(None).records.model_dump() == expected


def test_every_key_is_read(tmp_path: Path) -> None:
    text = "records: {enabled: false, path: /var/lib/tenure/r, maxAge: 36h, maxMib: 64}"
    path, age = Path("/var/lib/tenure/r"), 36 * 3_600 * SECOND
    expected = {"enabled": False, "path": path, "max_age": age, "max_mib": 64}
    assert settings(tmp_path, text).model_dump() == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{maxAge: 7}", "records.maxAge: '7' is not a duration"),
        ("{maxAge: 0s}", "records.maxAge: must be longer than zero"),
        ("{maxMib: 0}", "records.maxMib: must be at least 1"),
        ("{enabled: perhaps}", "records.enabled: must be true or false"),
        ("{maxage: 7d}", "records.maxage: unknown key; did you mean maxAge?"),
    ],
)
def test_invalid_setting_prevents_the_start(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings(tmp_path, f"records: {text}")
    assert says in str(refused.value)


@pytest.mark.parametrize("is_enabled", [True, False])
def test_command_line_overrides_the_file(is_enabled: bool) -> None:
    records = RecordSettings(enabled=is_enabled, path=Path("a"))
    assert records.with_overrides(None, is_off=False) == records
    assert records.with_overrides(Path("b"), is_off=False) == RecordSettings(enabled=True, path=Path("b"))
    assert not records.with_overrides(None, is_off=True).enabled
