"""Configuration files for the proofs, as administrators write them, and servers that use them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.server.settings import load_settings
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, default_profile

from tests.server.servers import run_server

Arguments = Mapping[str, str]
FULL: Final = tuple(plugin.name for plugin in default_profile().plugins)
"""Plugins of the default profile, in order."""


def configuration(
    plugins: Mapping[str, Arguments] | None = None, without: str = "", **sections: object
) -> str:
    """A configuration file with all plugins of the default profile but one, and their arguments."""
    rows: list[dict[str, Any]] = [{"name": name} for name in FULL if name != without]
    for row in rows:
        if arguments := (plugins or {}).get(row["name"]):
            row["arguments"] = dict(arguments)
    return yaml.safe_dump({"tiers": [{"plugins": rows}], **sections}, sort_keys=False)


class Servers:
    """One server for each configuration, started when it is first needed."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self._folder, self._ends = folder, ends
        self._clients: dict[str, Client] = {}

    def client(self, text: str = "") -> Client:
        """A client of the server with this configuration file; empty: without a file."""
        if text not in self._clients:
            file = self._folder / f"{len(self._clients)}.yaml"
            file.write_text(text)
            profile = load_settings(file).profile if text else default_profile()
            _, address = self._ends.enter_context(run_server(Engine(profile)))
            self._clients[text] = self._ends.enter_context(Client(address))
        return self._clients[text]


@contextmanager
def client_of(profile: Profile, plugins: Mapping[str, Any] | None = None) -> Iterator[Client]:
    """A client of a server with this profile and plugins of another package."""
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, **(plugins or {})})
    with run_server(Engine(profile, registry)) as (_, address), Client(address) as client:
        yield client


def changed_profile(without: str = "", more: Iterable[str] = (), actions: Iterable[str] = ()) -> Profile:
    """The default profile without a plugin, with more of them, or with other actions."""
    default = default_profile()
    plugins = (*(each for each in default.plugins if each.name != without), *map(PluginConfig, more))
    return replace(default, plugins=plugins, actions=tuple(actions) or default.actions)
