"""A server of one memory root or one index over HTTP (spec/service.md).

Needs the extra "serve"; imported by `hedgerow serve` alone.
"""
