"""The nodes on which a pod may be placed: Tenure's beside those of kube-scheduler's own filters."""
