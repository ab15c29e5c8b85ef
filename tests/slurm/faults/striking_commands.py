"""Commands of Slurm that count what changes the cluster, and strike once, before or after the command."""

from pathlib import Path
from typing import Final, Literal, NamedTuple

from tests.slurm.slurm_cluster import PACKAGES

When = Literal["before", "after"]
_COMMAND: Final = """\
#!/bin/sh
# Reads and comments do not count: they are repeated in any order, and change no job.
case "$*" in
  show*|ping*|"-o show"*|*AdminComment=*) exec {real} "$@" ;;
esac
lines=
if [ $# = 0 ]; then lines=$(cat); fi
exec 9>{folder}/counter.lock
flock 9
number=$(($(cat {folder}/counter) + 1))
echo $number > {folder}/counter
echo "$number $(basename {real}) $*" $lines >> {folder}/writes
exec 9>&-
if [ $number = {number} ] && [ {when} = before ]; then sh {folder}/strike; fi
if [ $# = 0 ]; then echo "$lines" | {real}; else {real} "$@"; fi
status=$?
if [ $number = {number} ] && [ {when} = after ]; then sh {folder}/strike; fi
exit $status
"""


class Strike(NamedTuple):
    """What happens at a command of the adapter."""

    script: str
    """Lines of a shell. `ADAPTER`, `CONTROLLER` and `NODE_n1` are process ids; commands of Slurm work."""
    number: int
    """At which command, from 1. 0: never."""
    when: When = "after"


class StrikingCommands:
    """A folder of commands that precede those of Slurm on the PATH."""

    def __init__(self, folder: Path, strike: Strike) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "counter").write_text("0\n")
        (folder / "writes").write_text("")
        (folder / "pids").write_text("")
        struck, pids = folder / "struck", folder / "pids"
        path = f"PATH={PACKAGES}/usr/bin:$PATH"
        (folder / "strike").write_text(f"{path}\n. {pids}\ntouch {struck}\n{strike.script}\n")
        for name in ("scontrol", "scancel"):
            command = folder / name
            real = PACKAGES / "usr/bin" / name
            command.write_text(
                _COMMAND.format(real=real, folder=folder, number=strike.number, when=strike.when)
            )
            command.chmod(0o755)

    def set_processes(self, **pids: int) -> None:
        """The processes that a strike may kill."""
        temporary = self.folder / "pids.new"
        temporary.write_text("".join(f"{name}={pid}\n" for name, pid in pids.items()))
        temporary.replace(self.folder / "pids")

    @property
    def has_struck(self) -> bool:
        """Whether the strike has happened."""
        return (self.folder / "struck").exists()

    @property
    def writes(self) -> list[str]:
        """Commands that were counted."""
        return (self.folder / "writes").read_text().splitlines()
