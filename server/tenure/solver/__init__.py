"""The solver: a pure function from a cluster to decisions. Start reading at `cycle.decide`."""
