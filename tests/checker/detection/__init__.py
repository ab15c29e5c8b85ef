"""Tests of the checker: each violates one rule in a sound response."""
