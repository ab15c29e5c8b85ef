"""Kit for adapters: reconcile loop, journal and ports. Imports no library of a scheduler."""
