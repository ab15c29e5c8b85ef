"""The machinery of a cycle: extension points, ledger, statement, chains, session."""
