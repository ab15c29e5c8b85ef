"""The digest of a profile, by which an answer says what it was decided with, and what it is made of."""

import json
from dataclasses import asdict
from hashlib import sha256

from tenure.solver.framework.profile import Options, PluginSetting, Profile


def profile_digest(profile: Profile) -> str:
    """The first 16 hex digits of the SHA-256 over actions, plugins with arguments, and options.

    The order of actions and plugins counts, since it changes decisions; that of arguments does not.
    """
    return sha256(profile_text(profile).encode()).hexdigest()[:16]


def profile_text(profile: Profile) -> str:
    """All of a profile as JSON; equal profiles give equal texts."""
    content = {
        "actions": profile.actions,
        "plugins": [[plugin.name, sorted(plugin.arguments.items())] for plugin in profile.plugins],
        "options": asdict(profile.options),
    }
    return json.dumps(content, sort_keys=True)


def profile_of(text: str) -> Profile:
    """The profile of such a text. Raises ValueError when it is none, or has options nobody knows here.

    Whether actions and plugins are known is for `check_profile` to say.
    """
    try:
        content = json.loads(text)
        plugins = tuple(PluginSetting(name, dict(arguments)) for name, arguments in content["plugins"])
        return Profile(tuple(content["actions"]), plugins, Options(**content["options"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"is not a profile of this version: {error}") from None
