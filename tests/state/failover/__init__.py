"""Servers that are killed and restarted while a client uses them."""
