"""Terms that all packages share: durations and number formatting."""
