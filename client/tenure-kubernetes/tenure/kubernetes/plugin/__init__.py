"""`kubectl tenure`: what users and operators see and set, with their own rights on the API server."""
