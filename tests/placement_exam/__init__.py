"""The published exam of placement: lists of pods of a production cluster that ask for 130 % of its GPUs."""
