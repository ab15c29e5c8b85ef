"""The result of a cycle: what was committed, as decision groups, patches and times."""
