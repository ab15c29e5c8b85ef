"""Reservations: capacity that is kept for pod groups which wait (semantics section 17)."""
