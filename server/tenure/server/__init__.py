"""Tenure as a service: the codec, the engine, the gRPC server and the command line."""
