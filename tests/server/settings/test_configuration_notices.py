"""The configured default notice (R16.1)."""

from pathlib import Path

import pytest
from tenure.server.settings import ConfigurationError, load_settings


def settings_file(folder: Path, default: str, most: str) -> Path:
    file = folder / "tenure.yaml"
    file.write_text(f"options: {{defaultNotice: {default}, maxNotice: {most}}}\n")
    return file


def test_default_notice_is_read(tmp_path: Path) -> None:
    options = load_settings(settings_file(tmp_path, "2m", "2m")).profile.options
    assert options.default_notice == options.max_notice


@pytest.mark.parametrize(("default", "most"), [("2m", "1m"), ("2m", "0s")])
def test_default_notice_that_would_be_cut_is_refused(tmp_path: Path, default: str, most: str) -> None:
    file = settings_file(tmp_path, default, most)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file)
    problem = f"{default} is longer than options.maxNotice, which is {most}"
    assert str(caught.value) == f"{file}: options.defaultNotice: {problem}"
