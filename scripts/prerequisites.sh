#!/bin/sh
# Check the prerequisites of a build, and print how to install the missing ones. Prints nothing if
# all are installed. PYTHON is the interpreter, by default python3. JAVA=1 also checks the prerequisites
# of `make test-cluster`, CHROMIUM=NAME the browser of `make test-page`, and NPM=NAME the npm of
# `make test-typescript`.
set -eu
cd "${0%/*}/.."
PYTHON=${PYTHON:-python3}
complete=true

# The minimum versions are defined only where the tools read them.
oldest_python=$(sed -n 's/^requires-python = ">=\(.*\)"/\1/p' pyproject.toml)
oldest_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# at_least 3.11 3.10: whether the first version equals the second or is later.
at_least() {
    major=${1%%.*} minor=${1#*.}
    minor=${minor%%.*}
    [ "$major" -gt "${2%%.*}" ] || { [ "$major" -eq "${2%%.*}" ] && [ "$minor" -ge "${2#*.}" ]; }
}

# missing WHAT DEBIAN FEDORA MACOS
missing() {
    complete=false
    cat >&2 <<END
missing: $1
    Debian, Ubuntu:  $2
    Fedora:          $3
    macOS:           $4
END
}

missing_rust() {
    complete=false
    cat >&2 <<END
missing: $1
    any system:      install rustup from https://rustup.rs, then: rustup update stable
END
}

# Linking a program also shows that the compiler has its headers and libraries.
compiler_works() {
    scratch=$(mktemp -d) || return 1
    printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' >"$scratch/check.c"
    cc -o "$scratch/check" "$scratch/check.c" >/dev/null 2>&1 && works=0 || works=1
    rm -r "$scratch"
    return "$works"
}

command -v make >/dev/null || missing "make" \
    "sudo apt install make" "sudo dnf install make" "xcode-select --install"

compiler_works || missing "a C compiler that links programs, as \`cc\` (for the bundled SQLite)" \
    "sudo apt install build-essential" "sudo dnf install gcc" "xcode-select --install"

python=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || python=
if [ -z "$python" ] || ! at_least "$python" "$oldest_python"; then
    missing "Python $oldest_python or later ($PYTHON is ${python:-not there}; PYTHON=... names another)" \
        "sudo apt install python3 python3-venv" "sudo dnf install python3" "brew install python"
elif ! "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; then
    missing "the venv module of $PYTHON" \
        "sudo apt install python3-venv" "sudo dnf install python3-libs" "brew reinstall python"
fi

rust=$(rustc --version 2>/dev/null) || rust=
rust=${rust#rustc } rust=${rust%% *}
if [ -z "$rust" ] || ! at_least "$rust" "$oldest_rust"; then
    missing_rust "Rust $oldest_rust or later (rustc is ${rust:-not there})"
elif ! cargo --version >/dev/null 2>&1; then
    missing_rust "cargo, which belongs to Rust"
fi

if [ -n "${JAVA:-}" ]; then
    command -v java >/dev/null || missing "Java 17 or later, as \`java\`" \
        "sudo apt install default-jre-headless" "sudo dnf install java-latest-openjdk-headless" "brew install openjdk"
    command -v mvn >/dev/null || missing "Maven, as \`mvn\`" \
        "sudo apt install maven" "sudo dnf install maven" "brew install maven"
fi

if [ -n "${CHROMIUM:-}" ]; then
    command -v "$CHROMIUM" >/dev/null || missing "a browser, as \`$CHROMIUM\` (CHROMIUM=... names another)" \
        "sudo apt install chromium" "sudo dnf install chromium" "brew install --cask chromium"
fi

if [ -n "${NPM:-}" ]; then
    command -v "$NPM" >/dev/null || missing "Node with npm, as \`$NPM\` (NPM=... names another)" \
        "sudo apt install npm" "sudo dnf install npm" "brew install node"
fi

$complete
