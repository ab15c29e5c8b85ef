"""In-flight groups: what earlier cycles decided and is not complete comes before anything else."""
