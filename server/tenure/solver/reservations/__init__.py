"""Reservations of a cycle: owners start first, backfills end for them, and places and times are planned."""
