"""Tests of reference resolution."""
