"""Tests of the code that all processes share."""
