"""Retrievers for other frameworks, one a module, each with an extra (docs/frameworks.md).

Nothing here is imported by `import hedgerow`, nor by the other modules of this package.
"""
