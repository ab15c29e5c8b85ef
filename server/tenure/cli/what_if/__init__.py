"""Changes of a snapshot that `tenure simulate` decides on."""
