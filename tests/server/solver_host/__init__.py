"""Tests of solver processes."""
