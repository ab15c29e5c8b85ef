"""Kit for schedulers: what an adapter needs beside its own cluster. Knows no library of a scheduler."""
