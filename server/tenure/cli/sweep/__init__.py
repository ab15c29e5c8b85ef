"""`tenure sweep`: many simulated runs, and the frontier of the best ones."""
