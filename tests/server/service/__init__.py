"""Tests of the gRPC service over a connection."""
