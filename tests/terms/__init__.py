"""Tests of the terms that every package shares."""
