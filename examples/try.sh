#!/bin/sh
# Index the notes beside this script and search them in ways that show what hedgerow does.
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

say 'Read a folder of notes: Markdown, a text file, JSON Lines. Run it twice: nothing changes.'
run index examples/notes --db .try/notes.db

say 'Plain words are alternatives, and words like "when" and "the" are dropped.'
run search 'when do I cut the hawthorn' --db .try/notes.db --limit 3 --explain

say 'A phrase stands together, a prefix is open at its end, NOT excludes from the whole.'
run search 'kube* NOT "old cluster"' --db .try/notes.db --limit 3 --explain

say 'AND asks for both.'
run search 'winter AND feeding' --db .try/notes.db --limit 3

say 'An alias searches for other words in the place of one.'
run search 'k8s' --alias k8s=kubernetes,kubectl --db .try/notes.db --limit 2 --explain

say 'Filters narrow by folder, tag and front matter before anything is ranked.'
run search 'backup' --filter tag=decision --filter meta.status=kept --db .try/notes.db

say 'Finding nothing is said clearly, with what was searched for.'
run search 'where is the unicorn' --db .try/notes.db

say 'By meaning as well, with a model on this machine: the note shares no word with the question.'
if python -c 'from hedgerow.embedders.installed import installed_folder; import onnxruntime, tokenizers; installed_folder()' 2>/dev/null
then
    run index examples/notes --db .try/meaning.db --embedder local
    run search 'spiky animals that sleep through the cold' --db .try/meaning.db --embedder local --limit 1 --explain
else
    printf '%s\n' 'Left out: no model is installed. To see it: make model-wheels, then' \
        '    .venv/bin/pip install onnxruntime tokenizers numpy hedgerow-bge-small-en --find-links wheelhouse/models'
fi
