"""The audit file: every call has a line, and every change of the file is found."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tenure.server.audit import AuditEntry, AuditError, FileAuditLog
from tenure.server.audit.chain_file import ChainFile, full_files
from tenure.server.audit.entry import GENESIS, START, Position, digest_of, encode_line
from tenure.server.audit.verify import verify
from tenure.server.records import RecordsFile
from tenure.v1 import state_pb2 as pb

from tests.attacks.callers.test_revocation import wait_until
from tests.attacks.callers.two_clusters import (
    REQUESTS,
    RPCS,
    SERVER_METHODS,
    TOKENS,
    A,
    B,
    call,
    call_on,
    delta,
    run_two_clusters,
    snapshot_of,
)
from tests.e2e.command import run_tenure
from tests.server.records.recorded_cycles import recorder, rows
from tests.server.servers import run_server, run_server_process

pytestmark = pytest.mark.long


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def entry(result: str = "OK", caller: str = "token:a") -> AuditEntry:
    return AuditEntry(caller, "token", "ipv4:10.0.0.1:1", "Decide", A, "", 7, result)


def write_lines(file: Path, number: int) -> Path:
    """Write a log with this number of lines."""
    log = FileAuditLog(file)
    for at in range(number):
        log.write(entry(str(at)))
    log.close(10)
    return file


@contextmanager
def audited(folder: Path) -> Iterator[tuple[str, Path]]:
    """Run the two clusters with an audit file; yield the address and the file."""
    file = folder / "audit.jsonl"
    with run_two_clusters(folder, audit=FileAuditLog(file)) as address:
        wait_until(lambda: len(lines(file)) == 2)
        yield address, file


@pytest.mark.parametrize("method", sorted(RPCS))
def test_every_call_has_a_line_that_names_caller_cluster_and_result(tmp_path: Path, method: str) -> None:
    requests = next(iter(REQUESTS[method].values()))
    with audited(tmp_path) as (address, file):
        call(address, method, requests(A, A), TOKENS["a"])
        if method not in SERVER_METHODS:
            call(address, method, requests(B, A), TOKENS["a"])
        wait_until(lambda: len(lines(file)) == (3 if method in SERVER_METHODS else 4))
        own, *denied = lines(file)[2:]
    named = ("caller", "authentication", "method", "cluster", "result")
    cluster = "" if method in SERVER_METHODS else A
    assert [own[name] for name in named] == ["token:a", "token", method, cluster, "OK"]
    assert own["peer"].startswith("ipv4:127.0.0.1:")
    versions = {"Decide": 7, "PutSnapshot": 7, "ApplyDelta": 8, "SyncState": 8, "GetState": 7, "Simulate": 7}
    assert own["version"] == {**versions, "Explain": 7}.get(method)
    for line in denied:
        assert [line[name] for name in named] == ["token:a", "token", method, B, "PERMISSION_DENIED"]
    assert verify([file]).problem_count == 0


def test_every_delta_of_a_stream_has_a_line(tmp_path: Path) -> None:
    requests = [pb.SyncStateRequest(nonce=str(at), delta=delta(A, at)) for at in (7, 8, 7, 9)]
    with audited(tmp_path) as (address, file):
        assert call(address, "SyncState", requests, TOKENS["a"]).code == "OK"
        wait_until(lambda: len(lines(file)) == 5)
        results = [(line["version"], line["result"]) for line in lines(file)[2:]]
    assert results[:2] == [(8, "OK"), (9, "OK")]
    assert results[2][1] == "VERSION_GAP"


def test_names_of_callers_cannot_break_a_line(tmp_path: Path) -> None:
    snapshot = snapshot_of(A)
    snapshot.node_pool = 'x"}\n{"sequence":1,"previous":"\u2028\x00'
    with audited(tmp_path) as (address, file), grpc.insecure_channel(address) as channel:
        call_on(channel, "Decide", [REQUESTS["Decide"]["snapshot"](A, A)[0]], TOKENS["a"])
        request = REQUESTS["Decide"]["snapshot"](A, A)[0]
        request.snapshot.CopyFrom(snapshot)
        call_on(channel, "Decide", [request], TOKENS["a"])
        wait_until(lambda: len(lines(file)) == 4)
        assert lines(file)[-1]["node_pool"] == snapshot.node_pool
    assert verify([file]).problem_count == 0


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "field changed": lambda found: [*found[:4], found[4].replace(b"token:a", b"token:b"), *found[5:]],
    "space added": lambda found: [*found[:4], found[4].replace(b",", b", ", 1), *found[5:]],
    "line removed": lambda found: [*found[:4], *found[5:]],
    "first line removed and renumbered": lambda found: [
        found[1].replace(b'"sequence":2', b'"sequence":1'),
        *found[2:],
    ],
    "lines swapped": lambda found: [*found[:4], found[5], found[4], *found[6:]],
    "line repeated": lambda found: [*found[:5], found[4], *found[5:]],
    "line inserted": lambda found: [
        *found[:4],
        encode_line(entry("forged"), 0, Position(4, digest_of(found[3][:-1])), 0) + b"\n",
        *found[4:],
    ],
    "garbage inserted": lambda found: [*found[:4], b"garbage\n", *found[4:]],
    "empty line inserted": lambda found: [*found[:4], b"\n", *found[4:]],
    "last line cut": lambda found: [*found[:-1], found[-1][:-20]],
    "newline of the last line removed": lambda found: [*found[:-1], found[-1][:-1]],
    "line without fields": lambda found: [*found[:4], b"{}\n", *found[5:]],
    "long line": lambda found: [*found[:4], b'{"sequence":5,"x":"' + b"x" * 10**6 + b'"}\n', *found[5:]],
    "deep line": lambda found: [*found[:4], b"[" * 50_000 + b"\n", *found[5:]],
}


def run_verify(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return run_tenure("audit", "verify", *map(str, arguments))


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_change_of_the_file_is_found(tmp_path: Path, change: str) -> None:
    file = write_lines(tmp_path / "audit.jsonl", 8)
    file.write_bytes(b"".join(CHANGES[change](file.read_bytes().splitlines(keepends=True))))
    result = verify([file])
    assert result.problem_count >= 1
    assert all(problem.file == str(file) for problem in result.problems)


def test_command_reports_an_intact_file(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "audit.jsonl", 3)
    ended = run_verify(file)
    digest = digest_of(file.read_bytes().splitlines()[-1])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"3 lines, 1 to 3: intact.\nLast digest: {digest}\n"


def test_command_reports_a_changed_file_as_json(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "audit.jsonl", 3)
    file.write_bytes(file.read_bytes().replace(b'"result":"1"', b'"result":"2"'))
    ended = run_verify(file, "--output", "json")
    assert ended.returncode == 1
    found = json.loads(ended.stdout)
    assert (found["lines"], found["problem_count"]) == (3, 1)
    assert found["problems"] == [
        {
            "file": str(file),
            "line": 3,
            "description": "does not have the digest of the line before: that line was changed, removed or "
            "inserted",
        }
    ]


def test_command_reports_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    ended = run_verify(tmp_path / "missing")
    assert ended.returncode == 2
    assert ended.stderr == f"tenure: {tmp_path / 'missing'}: cannot be read: No such file or directory\n"


def test_restarted_server_continues_the_chain(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    for _ in range(3):
        write_lines(file, 4)
    result = verify([file])
    assert (result.lines, result.first_sequence, result.last_sequence, result.problem_count) == (12, 1, 12, 0)
    assert file.stat().st_mode & 0o777 == 0o600


def test_moved_file_is_continued_by_the_next(tmp_path: Path) -> None:
    file, old = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    log = FileAuditLog(file)
    log.write(entry())
    wait_until(lambda: file.stat().st_size > 0)
    file.rename(old)
    log.write(entry())
    log.close(10)
    assert verify([old, file])[:3] == (2, 1, 2)
    assert verify([old, file]).problem_count == 0
    assert verify([file, old]).problem_count > 0
    assert verify([file]).first_sequence == 2


def write_full_files(file: Path, number: int, kept: int | None = None) -> list[Path]:
    """Write lines one by one to files that are full after two lines; return the full files."""
    size = len(encode_line(entry(), 0, START, 0))
    log = FileAuditLog(file, most_bytes=size + 100, kept=kept)
    for at in range(number):
        log.write(entry(str(at)))
        wait_until(lambda at=at: log._end.sequence == at + 1)  # type: ignore[misc]
    log.close(10)
    return [*full_files(file)]


def test_flood_of_calls_removes_no_line_of_earlier_calls(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    full = write_full_files(file, 9)
    assert [each.name for each in full] == [f"audit.jsonl.{number:012}" for number in (2, 4, 6, 8)]
    assert verify([*full, file])[:5] == (9, 1, 9, digest_of(file.read_bytes()[:-1]), 0)
    assert verify([*full, file]).problem_count == 0
    ended = run_verify(file)
    assert ended.stdout.startswith("9 lines, 1 to 9: intact.\n")
    assert run_verify(file, *full).stdout == ended.stdout
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in full)


def test_removed_and_exchanged_full_files_are_found(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    full = write_full_files(file, 9)
    full[2].rename(tmp_path / "elsewhere")
    assert run_verify(file).returncode == 1
    full[1].rename(full[2])
    assert run_verify(file).returncode == 1
    shutil.copy(tmp_path / "elsewhere", full[1])
    assert run_verify(file).returncode == 1


def test_limited_number_of_full_files_is_kept_and_the_rest_still_verifies(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    assert [each.name[-2:] for each in write_full_files(file, 9, kept=2)] == ["06", "08"]
    ended = run_verify(file)
    assert ended.returncode == 0
    assert ended.stdout.startswith("5 lines, 5 to 9: intact.\nThe first line continues an earlier file")


@pytest.mark.parametrize("remains", ["nothing", "an empty file"])
def test_server_that_was_killed_between_two_files_continues_the_chain(tmp_path: Path, remains: str) -> None:
    file = tmp_path / "audit.jsonl"
    write_full_files(file, 4)
    assert not file.exists()
    if remains == "an empty file":
        file.touch(0o600)
    write_lines(file, 3)
    assert run_verify(file).stdout.startswith("7 lines, 1 to 7: intact.\n")


def test_full_file_that_cannot_be_renamed_grows_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "audit.jsonl"
    for number in (2, 3, 4):
        (tmp_path / f"audit.jsonl.{number:012}").write_text("of another log")
    log = FileAuditLog(file, most_bytes=500)
    for at in range(4):
        log.write(entry(str(at)))
        wait_until(lambda at=at: log._end.sequence == at + 1)  # type: ignore[misc]
    log.close(10)
    assert verify([file])[:3] == (4, 1, 4)
    assert caplog.text.count("Cannot rotate the audit file") == 1


def test_file_that_was_emptied_while_the_server_runs_shows_a_gap(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = FileAuditLog(file)
    log.write(entry())
    wait_until(lambda: file.stat().st_size > 0)
    file.write_bytes(b"")
    log.write(entry())
    log.close(10)
    assert verify([file]).first_sequence == 2


@pytest.mark.parametrize("rest", [b"{", b"garbage", b'{"sequence":4'])
def test_incomplete_last_line_is_kept_and_found(tmp_path: Path, rest: bytes) -> None:
    file = write_lines(tmp_path / "audit.jsonl", 3)
    file.write_bytes(file.read_bytes() + rest)
    write_lines(file, 0)
    write_lines(file, 2)
    result = verify([file])
    assert (result.lines, result.last_sequence, result.problem_count) == (6, 6, 1)
    assert (result.problems[0].line, result.problems[0].description) == (4, "is not an audit line")


@pytest.mark.parametrize("content", [b"some notes\n", b"\n\n", b"[1]\n"])
def test_other_file_is_not_appended_to(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes"
    file.write_bytes(content)
    with pytest.raises(AuditError, match="is not an audit file; move it away"):
        FileAuditLog(file)
    assert file.read_bytes() == content


def test_file_of_others_is_not_appended_to(tmp_path: Path) -> None:
    file, link = write_lines(tmp_path / "audit.jsonl", 1), tmp_path / "link"
    link.symlink_to(file)
    with pytest.raises(AuditError, match="cannot be opened: Too many levels of symbolic links"):
        FileAuditLog(link)
    file.chmod(0o622)
    with pytest.raises(AuditError, match="has mode 0622, so that other users can change it: chmod go-w"):
        FileAuditLog(file)


def test_two_servers_cannot_write_one_file(tmp_path: Path) -> None:
    first = ChainFile(tmp_path / "audit.jsonl")
    with pytest.raises(AuditError, match="another server writes to it"):
        FileAuditLog(tmp_path / "audit.jsonl")
    first.close()
    FileAuditLog(tmp_path / "audit.jsonl").close(10)


def test_server_with_an_unusable_audit_file_does_not_start(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"server: {{auditFile: {tmp_path}}}\nrecords: {{enabled: false}}\n")
    ended = run_tenure("serve", "--listen", "127.0.0.1:0", "--config", str(config))
    assert ended.returncode == 2
    assert ended.stderr == f"tenure: {tmp_path}: cannot be opened: Is a directory\n"


def test_lost_lines_are_counted_in_the_next_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, written = tmp_path / "audit.jsonl", ChainFile.append

    def full(self: ChainFile, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ChainFile, "append", full)
    log = FileAuditLog(file, max_entries=5, retry_seconds=0.01)
    for at in range(20):
        log.write(entry(str(at)))
    wait_until(lambda: "No space left" in log.faults()["audit"])
    monkeypatch.setattr(ChainFile, "append", written)
    wait_until(lambda: len(lines(file)) == 5)
    assert log.faults()["audit"] == ""
    log.close(10)
    assert [line["result"] for line in lines(file)] == ["0", "1", "2", "3", "4"]
    result = verify([file])
    assert (result.lost, result.problem_count) == (15, 0)


def test_incomplete_write_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_lines(tmp_path / "audit.jsonl", 2)
    before, real, calls = file.read_bytes(), os.write, []
    chain: ChainFile = ChainFile(file)

    def half(descriptor: int, content: bytes) -> int:
        calls.append(content)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return int(real(descriptor, content[: len(content) // 2]))

    monkeypatch.setattr("tenure.server.audit.chain_file.os.write", half)
    with pytest.raises(OSError, match="No space"):
        chain.append(b"x" * 100)
    chain.close()
    assert file.read_bytes() == before


def test_killed_server_leaves_a_chain_that_the_next_continues(tmp_path: Path) -> None:
    file, config = tmp_path / "audit.jsonl", tmp_path / "config.yaml"
    config.write_text(f"server: {{auditFile: {file}}}\nrecords: {{enabled: false}}\n")
    for number in (1, 2):
        with run_server_process("--config", str(config)) as (process, address):
            assert call(address, "Decide", REQUESTS["Decide"]["snapshot"](A, A), "x").code == "OK"
            wait_until(lambda number=number: len(lines(file)) == number)
            process.kill()
    assert verify([file])[:3] == (2, 1, 2)
    assert verify([file]).problem_count == 0
    assert [line["caller"] for line in lines(file)] == ["", ""]


def test_stopped_server_writes_all_lines(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with run_server(audit=FileAuditLog(file)) as (_, address), grpc.insecure_channel(address) as channel:
        for _ in range(50):
            call_on(channel, "Decide", REQUESTS["Decide"]["snapshot"](A, A), "x")
    assert len(lines(file)) == 50


def test_line_is_the_documented_one(tmp_path: Path) -> None:
    line = json.loads(encode_line(entry(), 1_748_779_200_000_000_000, START, 0))
    page = Path("docs/operate/security.md").read_text()
    shown = json.loads(next(row for row in page.splitlines() if row.startswith('{"sequence"')))
    assert list(line) == list(shown)
    assert (line["time"], line["previous"]) == ("2025-06-01T12:00:00.000000Z", GENESIS)


def test_records_name_the_caller(tmp_path: Path) -> None:
    kept = recorder(tmp_path / "records")
    with run_two_clusters(tmp_path, recorder=kept) as address:
        assert call(address, "Decide", REQUESTS["Decide"]["state"](A, A), TOKENS["a"]).code == "OK"
        assert call(address, "Decide", REQUESTS["Decide"]["state"](B, A), TOKENS["a"]).code != "OK"
        wait_until(lambda: rows(tmp_path / "records", "SELECT count(*) FROM records") == [(1,)])
    with RecordsFile(tmp_path / "records") as found:
        assert [(record.cluster_id, record.caller) for record in found.records()] == [(A, "token:a")]
