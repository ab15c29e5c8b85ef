"""Many runs over the points of a study, and which points are best."""
