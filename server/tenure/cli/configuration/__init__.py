"""The commands `tenure config show` and `tenure config check`."""
