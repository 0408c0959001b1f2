"""Agents: TOML definitions that select nodes, ask a model about them and apply its reply.

See spec/agents.md. `Agents` runs the definitions of a folder on a store.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
