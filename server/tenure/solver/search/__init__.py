"""How a cycle searches: order, placement, victims, scenarios."""
