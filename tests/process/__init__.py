"""Tests of what every process needs."""
