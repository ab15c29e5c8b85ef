"""The rules of the checker, one module each."""
