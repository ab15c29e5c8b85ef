"""Tests of the integration kit."""
