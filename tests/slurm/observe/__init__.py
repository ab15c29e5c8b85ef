"""Reading of listings that were recorded on a real cluster."""
