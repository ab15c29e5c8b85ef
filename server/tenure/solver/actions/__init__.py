"""Actions: the steps of a cycle. They reach plugins through extension points only."""
