"""Entries of hedgerow in the configuration of agents: made, shown and undone (docs/how-to/agents.md)."""
