"""The plugin of kubectl."""
