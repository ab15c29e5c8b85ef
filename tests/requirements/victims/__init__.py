"""Victims: cooldowns, fates and notices, through gRPC."""
