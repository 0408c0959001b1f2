"""The instructions for agents that use a memory root."""

from __future__ import annotations

INSTRUCTIONS = """\
# hedgerow memory hint

This project keeps its memory as Markdown files. Recall before you start on a task, when the user
refers to something earlier, and before a decision that may have been taken already.

- Recall is explicit and bounded: ask for what you need, read the few results, cite their files.
  Nothing is put into your context silently.
- Remember writes, recall reads. Remember what will matter again: decisions with their reason,
  findings, preferences.
- Before a task: `hedgerow run memory:recall --topic "<topic>" --depth shallow`
- With a question: `hedgerow run memory:recall --query "<question>" --limit 10 --json`
- `--depth shallow|normal|deep`: pages and decisions first, a balance, or raw sessions too.
- To remember: `echo "<text>" | hedgerow run memory:remember --type decision --title "<title>"`
- The root is found from the working directory upward; pass `--root <folder>` where it is not.
- The index follows the files by itself; `hedgerow run memory:index` is needed by no one but
  programs that read `.hedgerow/index.json`.
- Do not memorize secrets, tokens, or the noise of a conversation.

At the end of a session pipe a wrapup to `hedgerow run memory:wrapup --title "<title>"`, with these
headings; each has text, `None captured.` if need be:

## Findings
## Decisions
## Conflicts / Corrections
## Open Questions
"""
