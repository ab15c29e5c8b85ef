"""Sets of victims that suffice: made smaller, and compared."""
