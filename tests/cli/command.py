"""The command `tenure`, run in the process of a test."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
from tenure.cli.main import main


class CommandResult(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Tenure = Callable[..., CommandResult]


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tenure:
    """`tenure` with arguments, in this process."""

    def command(*arguments: str) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["tenure", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return CommandResult(int(ended.value.code or 0), *capsys.readouterr())

    return command
