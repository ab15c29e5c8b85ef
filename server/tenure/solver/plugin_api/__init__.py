"""Plugin API: what authors of plugins and actions import."""
