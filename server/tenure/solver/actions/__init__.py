"""Actions: what a cycle does, in the order of the profile. They speak to extension points only."""
