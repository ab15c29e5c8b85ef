"""Tests of the checker: each breaks one rule in a sound response."""
