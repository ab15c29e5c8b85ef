"""The check `sentences`: what explanations say is true when somebody applies it to the cluster."""
