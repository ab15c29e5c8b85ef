"""Tests of the extension points."""
