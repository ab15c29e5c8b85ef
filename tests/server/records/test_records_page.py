"""Commands, counters and defaults on docs/use/records-and-replay.md match the code."""

import re
import shlex
from pathlib import Path

import pytest
from tenure.server.records import recorder
from tenure.server.settings import RecordSettings
from tenure.server.state.lineage import MAX_DELTAS

from tests.cli.test_records import tenure
from tests.server.records.recorded_cycles import draw_snapshots, inline_cycle, write_records

PAGE = (Path(__file__).parents[3] / "docs" / "use" / "records-and-replay.md").read_text()
COMMANDS = [shlex.split(line, comments=True) for line in re.findall(r"^tenure .*$", PAGE, re.MULTILINE)]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a server with default options has stored 17 records."""
    folder = tmp_path_factory.mktemp("state")
    (folder / "tenure").mkdir()
    write_records(folder / "tenure" / "records.sqlite", [inline_cycle(*draw_snapshots(1, 1))] * 17)
    (folder / "new.yaml").write_text("actions: allocate\n")
    return folder


def test_page_has_commands() -> None:
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_of_the_page_runs(command: list[str], state: Path) -> None:
    arguments = [str(state / word) if word.endswith(".yaml") else word for word in command[1:]]
    ended = tenure(*arguments, XDG_STATE_HOME=str(state))
    assert ended.returncode in ((0, 1) if "--config" in command else (0,)), ended.stderr


def test_defaults_match_the_page() -> None:
    default = RecordSettings()
    assert f"`records.maxAge` ({default.max_age // (86_400 * 10**9)} days)" in PAGE
    assert f"`records.maxMib`\n({default.max_mib})" in PAGE
    assert f"at least every {MAX_DELTAS} of them in full" in PAGE
    assert f"{recorder.MAX_ENTRIES:,} entries, or some {recorder.MAX_BYTES // 2**20} MiB" in PAGE
    assert f"tries again every {recorder.RETRY_SECONDS:g} seconds" in PAGE


def test_every_drop_reason_is_documented() -> None:
    reasons = [recorder.BACKLOG, recorder.DISK, recorder.BASE]
    assert [reason for reason in reasons if f"`{reason}`" not in PAGE] == []
