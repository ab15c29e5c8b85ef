"""Tests of the command `tenure`."""
