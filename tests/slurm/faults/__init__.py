"""The adapter, slurmctld and slurmd die at each command; administrators interfere; the result is the same."""
