"""Runs the gate, job_submit.lua, in the Lua of Slurm's packages, without a slurmctld."""

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from tests.slurm.slurm_cluster import PACKAGES

NO_VAL, INFINITE = 0xFFFFFFFE, 0xFFFFFFFF
_SLURM: Final = f"""
slurm = {{ SUCCESS = 0, ERROR = -1, NO_VAL = {NO_VAL}, INFINITE = {INFINITE} }}
function slurm.log_user(text) refusal = text end
"""
Fields = Mapping[str, str | int]


class LuaFailed(Exception):
    """A script failed. The message is that of Lua."""


class Gate:
    """One gate. Fields of jobs are strings and numbers, as slurmctld passes them."""

    def __init__(self, library: ctypes.CDLL, state: int, script: str) -> None:
        self._library, self._state = library, state
        self._run(_SLURM)
        self._run(script)

    def submit(self, job: Fields, uid: int = 5) -> dict[str, str]:
        """Fields of a job after its submission by a user. Raises LuaFailed if the gate refuses it."""
        return self._call(f"d = {_table(job)}; code = slurm_job_submit(d, {{}}, {uid})")

    def modify(self, change: Fields, job: Fields, uid: int = 5) -> dict[str, str]:
        """Fields of a change of a job after the gate. Raises LuaFailed if the gate refuses it."""
        call = f"code = slurm_job_modify(d, {_table(job)}, {{}}, {uid})"
        return self._call(f"d = {_table(change)}; {call}")

    def _call(self, text: str) -> dict[str, str]:
        lines = (
            text,
            "if code ~= slurm.SUCCESS then error(refusal or 'refused', 0) end",
            "local found = {}",
            r"for name, value in pairs(d) do found[#found + 1] = name .. '\1' .. tostring(value) end",
            r"return table.concat(found, '\2')",
        )
        found = self._run("\n".join(lines))
        pairs = (one.partition("\1") for one in found.split("\2") if one)
        return {name: value for name, _, value in pairs}

    def _run(self, text: str) -> str:
        library, raw = self._library, text.encode(errors="surrogateescape")
        library.lua_settop(self._state, 0)
        failed = library.luaL_loadbuffer(self._state, raw, len(raw), b"gate")
        failed = failed or library.lua_pcall(self._state, 0, 1, 0)
        size = ctypes.c_size_t()
        found = library.lua_tolstring(self._state, -1, ctypes.byref(size))
        result = ctypes.string_at(found, size.value).decode(errors="surrogateescape") if found else ""
        if failed:
            raise LuaFailed(result)
        return result


@contextmanager
def run_gate(script: str) -> Iterator[Gate]:
    """A gate, until the end of the context."""
    library = ctypes.CDLL(str(PACKAGES / "usr/lib/x86_64-linux-gnu/liblua5.1.so.0"))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.luaL_newstate.restype = pointer
    library.luaL_openlibs.argtypes = library.lua_close.argtypes = [pointer]
    library.luaL_loadbuffer.argtypes = [pointer, ctypes.c_char_p, size, ctypes.c_char_p]
    library.lua_pcall.argtypes = [pointer, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    library.lua_settop.argtypes = [pointer, ctypes.c_int]
    library.lua_tolstring.argtypes = [pointer, ctypes.c_int, ctypes.POINTER(size)]
    library.lua_tolstring.restype = pointer
    state = library.luaL_newstate()
    library.luaL_openlibs(state)
    try:
        yield Gate(library, state, script)
    finally:
        library.lua_close(state)


def _table(fields: Fields) -> str:
    """A table of Lua."""
    return "{" + ", ".join(f"{name} = {_literal(value)}" for name, value in fields.items()) + "}"


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(f"\\{byte:03}" for byte in value.encode(errors="surrogateescape")) + '"'
