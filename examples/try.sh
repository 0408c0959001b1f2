#!/bin/sh
# Index the notes next to this script, and run searches that show the features of hedgerow.
# Run by `make try`; needs `hedgerow` on the PATH.
set -eu

cd "$(dirname "$0")/.."
mkdir -p .try

say() {
    printf '\n# %s\n' "$1"
}

# Print a command as it would be typed, then run it.
run() {
    printf '$ hedgerow'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./=,-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    hedgerow "$@"
}

say 'Index a folder of notes: Markdown, a text file, JSON Lines. A second run changes nothing.'
run index examples/notes --db .try/notes.db

say 'A query finds notes with any of its words. Words like "when" and "the" are dropped.'
run search 'when do I cut the hawthorn' --db .try/notes.db --limit 3 --explain

say 'A prefix matches all words that begin with it, and NOT excludes notes with a phrase.'
run search 'kube* NOT "old cluster"' --db .try/notes.db --limit 3 --explain

say 'AND requires both words.'
run search 'winter AND feeding' --db .try/notes.db --limit 3

say 'An alias replaces a word by alternatives.'
run search 'k8s' --alias k8s=kubernetes,kubectl --db .try/notes.db --limit 2 --explain

say 'Filters by folder, tag and front matter apply before ranking.'
run search 'backup' --filter tag=decision --filter meta.status=kept --db .try/notes.db

say 'A search without results explains what it searched for.'
run search 'where is the unicorn' --db .try/notes.db

say 'Search by meaning, with a local model: the note shares no word with the query.'
if python -c 'from hedgerow.embedders.local import installed_folder; import onnxruntime, tokenizers; installed_folder()' 2>/dev/null
then
    run index examples/notes --db .try/meaning.db --embedder local
    run search 'spiky animals that sleep through the cold' --db .try/meaning.db --embedder local --limit 1 --explain
else
    printf '%s\n' 'Left out: no model is installed. To see it: make model-wheels, then' \
        '    .venv/bin/pip install onnxruntime tokenizers numpy hedgerow-bge-small-en --find-links wheelhouse/models'
fi
