"""No command writes a raw control character, whatever text of the contract has one."""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import pytest
import typer
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from tenure.cli import main as cli
from tenure.kubernetes.plugin import main as plugin
from tenure.process.printable_output import PrintableStream, printable_output
from tenure.v1.decision_service_pb2 import DESCRIPTOR
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.attacks.test_terminal import HOSTILE, Answer, assert_harmless, hostile_file, hostile_server

CONTROL: Final = "".join(map(chr, (*range(9), *range(11, 32), *range(127, 160))))
"""ESC, BEL, CSI and all others, but tab and line break."""
INVISIBLE: Final = "\u200b\u200e\u202a\u202b\u202d\u202e\u2028\u2029\u2066\u2067\u2069\ufeff\ud800"
PASSED_ON: Final = ("kubectl-tenure", "migrate")
"""Another process writes what it writes."""


def run(entry: Callable[[], object], *arguments: str) -> tuple[str, str]:
    """What a command writes to standard output and standard error, in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogatepass", newline="\n") for _ in range(2)]
    before = sys.argv, sys.stdout, sys.stderr
    sys.argv, (sys.stdout, sys.stderr) = ["tenure", *arguments], streams
    try:
        entry()
    except SystemExit:
        pass
    finally:
        sys.argv, sys.stdout, sys.stderr = before
    for stream in streams:
        stream.flush()
    out, errors = (stream.buffer.getvalue().decode("utf-8", "surrogatepass") for stream in streams)  # type: ignore[attr-defined]
    return out, errors


def commands(app: typer.Typer) -> Iterator[tuple[str, ...]]:
    """Words of all commands, subcommands included."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(command, click.Group) or hasattr(command, "commands"):
            for name, one in command.commands.items():
                yield from below(one, (*words, name))
        else:
            yield words

    yield from below(typer.main.get_command(app), ())


EVERY: Final = [
    *(("tenure", *words) for words in commands(cli.app)),
    *(("kubectl-tenure", *words) for words in commands(plugin.app)),
]
ENTRIES: Final[dict[str, Callable[[], object]]] = {"tenure": cli.main, "kubectl-tenure": plugin.main}
USAGE: Final = HOSTILE.replace("\x00", "")


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_no_command_repeats_a_control_character_of_its_arguments(words: tuple[str, ...]) -> None:
    program, *command = words
    for arguments in ((f"--{USAGE}",), (f"--{USAGE}=x", USAGE), (USAGE, USAGE, f"--{USAGE}")):
        out, errors = run(ENTRIES[program], *command, *arguments)
        assert_harmless(out + errors)
        assert out + errors or words == PASSED_ON


def fill(message: Message, depth: int = 0) -> Message:
    """Fill every text of a message, however deep, with control characters."""
    descriptor: Descriptor = message.DESCRIPTOR
    for field in descriptor.fields:
        value = getattr(message, field.name)
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            if inner.fields_by_name["value"].type == FieldDescriptor.TYPE_STRING:
                value[HOSTILE] = HOSTILE
            elif inner.fields_by_name["value"].message_type is None:
                value[HOSTILE] = 1
        elif inner is not None and inner.file.package == descriptor.file.package and depth < 6:
            fill(value.add() if field.is_repeated else value, depth + 1)
            if not field.is_repeated:
                value.SetInParent()
        elif field.type == FieldDescriptor.TYPE_STRING:
            if field.is_repeated:
                value.append(HOSTILE)
            else:
                setattr(message, field.name, HOSTILE)
        elif field.type == FieldDescriptor.TYPE_ENUM and not field.is_repeated:
            setattr(message, field.name, 1)
    return message


def filled_file(folder: Path) -> str:
    path = folder / "filled.json"
    path.write_text(MessageToJson(fill(ClusterSnapshot())))
    return str(path)


READ: Final[dict[str, tuple[str, ...]]] = {
    "decide": (),
    "workloads": (),
    "simulate": (),
    "explain": ("why-pending", "waits"),
    "redact": ("--output", "/nowhere/x.json"),
    "play": (),
    "records": (),
    "replay": (),
    "migrate": ("--check",),
    "audit verify": (),
    "config check": (),
}


@pytest.mark.parametrize("name", READ)
def test_no_text_of_a_file_reaches_a_terminal_raw(name: str, tmp_path: Path) -> None:
    for file in (filled_file(tmp_path), hostile_file(tmp_path)):
        command = name.split()
        out, errors = run(cli.main, *command, file, *READ[name])
        assert_harmless(out + errors)
        assert out + errors


RESPONSES: Final = {
    method.name: method.output_type for method in DESCRIPTOR.services_by_name["DecisionService"].methods
}
ASKED: Final[dict[str, tuple[str, ...]]] = {
    "Decide": ("decide",),
    "Simulate": ("simulate", "--cycles", "2"),
    "Explain": ("explain", "why-pending", "waits"),
}


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("method", ASKED)
def test_no_text_of_a_response_reaches_a_terminal_raw(method: str, form: str, tmp_path: Path) -> None:
    module = __import__(
        RESPONSES[method].file.name.removesuffix(".proto").replace("/", ".") + "_pb2", fromlist=["x"]
    )
    response = fill(getattr(module, RESPONSES[method].name)())
    content = response.SerializeToString()
    answer: Answer = lambda *_: content  # noqa: E731
    name, *more = ASKED[method]
    with hostile_server(answer) as address:
        file = hostile_file(tmp_path)
        out, errors = run(
            cli.main, name, file, *more, "--server", address, "--timeout", "20s", "--output", form
        )
    assert_harmless(out + errors)
    assert out + errors


def test_streams_escape_everything_but_line_breaks() -> None:
    raw = io.StringIO()
    stream = PrintableStream(raw)
    hostile = f"a{CONTROL}b{INVISIBLE}c\td\n"
    assert stream.write(hostile) == len(hostile)
    written = raw.getvalue()
    assert written.endswith("c\\td\n")
    assert [one for one in written if not one.isprintable()] == ["\n"]


def test_streams_are_the_earlier_ones_afterwards() -> None:
    before = sys.stdout, sys.stderr
    with printable_output():
        assert isinstance(sys.stdout, PrintableStream)
    assert (sys.stdout, sys.stderr) == before
