#!/bin/sh
# Test the wheel for another Linux platform, with every command, in a minimal Debian: see `make test-emulated`.
#
#     sudo sh scripts/emulated.sh FOLDER TARGET [TESTS ...]
#
# TARGET is aarch64-unknown-linux-gnu, aarch64-unknown-linux-musl or x86_64-unknown-linux-musl. QEMU emulates
# a foreign processor. The system and, for musl, a CPython are written to FOLDER/TARGET and reused by later runs.
# Needs root, debootstrap, qemu-user-static, rustup and the prerequisites of scripts/musl_python.sh.
set -eu

target=$2
folder=$1/$target
root=$folder/root
shift 2
PATH="$PWD/.venv/bin:$PATH"

architecture=${target%%-*}
case $architecture in
    aarch64) debian=arm64 ;;
    x86_64) debian=amd64 ;;
esac
case $target in
    *-linux-gnu)
        include=python3,libpython3-stdlib
        python=/usr/bin/python3
        wheel=manylinux_2_17
        platforms="--platform manylinux_2_28_$architecture --platform manylinux_2_17_$architecture"
        platforms="$platforms --platform manylinux2014_$architecture"
        without=
        ;;
    *-linux-musl)
        include=musl
        python=/opt/python/bin/python3.13
        wheel=musllinux_1_2
        platforms="--platform musllinux_1_2_$architecture --platform musllinux_1_1_$architecture"
        without="--ignore tests/retrieval/test_otel.py" # OpenTelemetry imports ctypes
        ;;
esac

for tool in debootstrap dpkg-deb qemu-aarch64-static rustup; do
    command -v "$tool" >/dev/null || {
        echo "$tool is missing; on Debian: apt-get install debootstrap qemu-user-static, and rustup for Rust" >&2
        exit 1
    }
done
# Register QEMU with the kernel, unless a service has done it at boot.
formats=/proc/sys/fs/binfmt_misc
[ -e "$formats/register" ] || mount -t binfmt_misc binfmt_misc "$formats"
[ "$architecture" = "$(uname -m)" ] || [ -e "$formats/qemu-$architecture" ] \
    || cat "/usr/lib/binfmt.d/qemu-$architecture.conf" >"$formats/register"

# Unpack the packages without configuring them, which would take half an hour in emulation.
mkdir -p "$folder"
if [ ! -e "$root/.made" ]; then
    rm -rf "$root" "$folder/packages"
    debootstrap --download-only --arch="$debian" --variant=minbase --include="$include" \
        trixie "$folder/packages" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    mkdir "$root"
    # base-files comes first, because it links /bin to /usr/bin.
    for package in "$folder"/packages/var/cache/apt/archives/base-files_*.deb \
        "$folder"/packages/var/cache/apt/archives/*.deb; do
        dpkg-deb --extract "$package" "$root"
    done
    cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
    cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
    mknod -m 666 "$root/dev/null" c 1 3
    mknod -m 666 "$root/dev/full" c 1 7
    mknod -m 666 "$root/dev/urandom" c 1 9
    mkdir -m 1777 "$root/dev/shm"
    touch "$root/.made"
fi
if [ "$include" = musl ]; then
    [ -e "$folder/python$python" ] || sh scripts/musl_python.sh "$folder/python" "$architecture"
    cp -R "$folder/python/opt" "$root"
fi

python -m pip install --quiet --group targets
rustup target add "$target"
rm -rf "$folder/wheel"
maturin build --release --locked --zig --target "$target" --compatibility "$wheel" --out "$folder/wheel"

# Unpack wheels for the target platform here, because an installer would be slow in emulation.
# matplotlib and the dependencies of ir-measures lack wheels for some targets; they are tested elsewhere.
rm -rf "$root/packages" "$root/hedgerow"
sed -n '/^suite = \[/,/^\]/p' pyproject.toml | grep -o '"[^"]*"' | tr -d '"' | grep -v 'ir-measures\|matplotlib' \
    >"$folder/suite.txt"
# shellcheck disable=SC2086 # several options
python -m pip install --quiet --target "$root/packages" --python-version 3.13 --only-binary=:all: $platforms \
    "$folder"/wheel/*.whl --requirement "$folder/suite.txt"
mkdir "$root/hedgerow"
git ls-files -z tests spec docs examples scripts benches README.md pyproject.toml \
    | xargs -0 cp --parents --target-directory "$root/hedgerow"

[ $# -gt 0 ] || set -- tests/index tests/query tests/temporal tests/retrieval tests/store
mount --bind /proc "$root/proc"
trap 'umount "$root/proc"' EXIT
in_root() {
    chroot "$root" /usr/bin/env -C /hedgerow PYTHONPATH=/packages HOME=/root PYTHONUTF8=1 "$@"
}
in_root "$python" scripts/smoke.py --in-process
# shellcheck disable=SC2086 # an option and its value
in_root "$python" -m pytest -q -p no:cacheprovider --numprocesses 2 \
    --ignore-glob 'tests/retrieval/test_evaluat*.py' $without "$@"
