"""One process that answers for a memory root or an index over HTTP (spec/service.md).

Needs the extra "serve"; imported by `hedgerow serve` alone.
"""
