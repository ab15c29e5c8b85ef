"""A whole cluster on this machine, with Tenure from this checkout: for people (`make cluster`) and tests."""
