"""Guards: protection of running pod groups from eviction."""
