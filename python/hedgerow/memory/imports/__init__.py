"""Moving in: memories of other tools become files of a root (spec/memory.md, "Moving in")."""
