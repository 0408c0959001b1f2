#!/bin/sh
# Run unit tests of the engine in Miri, which finds undefined behavior: reads out of bounds, of freed memory and of
# uninitialized bytes, misaligned pointers, aliasing violations. Prints the line that scripts/record_proof.py reads.
#
# Miri cannot run C, so tests that open SQLite are excluded. So is the tokenizer words, whose tables of all characters would
# take hours in Miri. It has no vector instructions, so only the plain Rust kernels run; valgrind and AddressSanitizer
# cover the others.
set -eu
cd "$(dirname "$0")/.."

# Prefixes of the names of modules and tests to run...
TESTS="
    bm25::counts:: bm25::postings::
    chunks::columns::value_key:: chunks::filters::json:: chunks::row_list::
    query::stopwords:: storage::row_blocks:: top_k::
    text::edits:: text::glob:: text::speech:: text::suggest:: text::utf16::
    vectors::codes:: vectors::kernels:: vectors::rotation::"
# ...except tests with thousands of cases, which would take minutes to hours in Miri.
SLOW="
    every_number_comes every_pair every_processor_gives every_set every_short products_with_a_plane
    versions_are_what what_is_chosen what_is_no_list"

started=$(date +%s)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# Property tests run two cases each. proptest reads its regressions folder, which isolation forbids.
# shellcheck disable=SC2046,SC2086 # words
PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation \
    cargo +nightly miri test --package hedgerow-engine --lib --locked -- \
    $TESTS $(printf -- '--skip %s ' $SLOW) >"$output" || { cat "$output"; exit 1; }
cat "$output"
count=$(sed -n 's/^test result: ok\. \([1-9][0-9]*\) passed.*/\1/p' "$output")
test -n "$count" || { echo "error: no test ran" >&2; exit 1; }
echo "proof {\"name\": \"miri\", \"seed\": null, \"seconds\": $(($(date +%s) - started)), \"count\": $count}"
