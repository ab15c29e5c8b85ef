"""Reservations on random sequences of cycles."""
