"""Plugins: one idea each. They are strangers to each other and know the framework only."""
