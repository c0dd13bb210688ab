"""How Laneway is watched: logs now."""
