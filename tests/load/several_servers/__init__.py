"""Several servers behind HAProxy, of which one fails."""
