"""Stories on a real Slurm cluster, with the adapter and the server as processes."""
