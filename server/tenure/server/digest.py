"""The digest of a profile, by which an answer says what it was decided with."""

import json
from dataclasses import asdict
from hashlib import sha256

from tenure.solver.framework.profile import Profile


def profile_digest(profile: Profile) -> str:
    """The first 16 hex digits of the SHA-256 over actions, plugins with arguments, and options.

    The order of actions and plugins counts, since it changes decisions; that of arguments does not.
    """
    content = {
        "actions": profile.actions,
        "plugins": [[plugin.name, sorted(plugin.arguments.items())] for plugin in profile.plugins],
        "options": asdict(profile.options),
    }
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
