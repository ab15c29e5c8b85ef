"""The search of a cycle: order, placement, victims, scenarios."""
