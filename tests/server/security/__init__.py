"""Tests of TLS and tokens."""
