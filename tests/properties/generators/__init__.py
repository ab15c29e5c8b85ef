"""Random clusters, profiles and moves."""
