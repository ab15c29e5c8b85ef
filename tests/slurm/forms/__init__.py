"""Forms of jobs, each submitted to a partition of Tenure and to one of Slurm itself."""
