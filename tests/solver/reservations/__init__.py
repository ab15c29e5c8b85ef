"""Tests of reservations and backfill."""
