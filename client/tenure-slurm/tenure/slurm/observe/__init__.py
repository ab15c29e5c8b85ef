"""What the adapter observes: listings of Slurm, and the rows that they become."""
