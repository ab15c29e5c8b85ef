"""The command line `tenure`. Other distributions add commands by the entry-point group `tenure.commands`."""
