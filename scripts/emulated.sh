#!/bin/sh
# Tests the wheel for AArch64 in a Debian for that processor, emulated by QEMU: see `make test-emulated`.
#
#     sudo sh scripts/emulated.sh FOLDER [TESTS ...]
#
# FOLDER gets the system, which the next run finds; asks for root, debootstrap, qemu-user-static and rustup.
set -eu

folder=$1
shift
target=aarch64-unknown-linux-gnu
root=$folder/root
PATH="$PWD/.venv/bin:$PATH"

for tool in debootstrap qemu-aarch64-static rustup; do
    command -v "$tool" >/dev/null || {
        echo "$tool is missing; on Debian: apt-get install debootstrap qemu-user-static, and rustup for Rust" >&2
        exit 1
    }
done
# Where no service did it at the start of the machine, tell the kernel what runs programs of that processor.
formats=/proc/sys/fs/binfmt_misc
[ -e "$formats/register" ] || mount -t binfmt_misc binfmt_misc "$formats"
[ -e "$formats/qemu-aarch64" ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$formats/register"

mkdir -p "$folder"
if [ ! -e "$root/.made" ]; then
    rm -rf "$root"
    debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,libpython3-stdlib \
        trixie "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    cp "$(command -v qemu-aarch64-static)" "$root/usr/bin/"
    chroot "$root" /usr/bin/qemu-aarch64-static /bin/sh /debootstrap/debootstrap --second-stage
    touch "$root/.made"
fi

python -m pip install --quiet --group targets
rustup target add "$target"
rm -rf "$folder/wheel"
maturin build --release --locked --zig --target "$target" --compatibility manylinux_2_17 --out "$folder/wheel"

# Wheels for that platform, unpacked from here: no installer runs in emulation.
# ir-measures needs a package that has none for it; what it measures is tested elsewhere.
rm -rf "$root/packages" "$root/hedgerow"
sed -n '/^suite = \[/,/^\]/p' pyproject.toml | grep -o '"[^"]*"' | tr -d '"' | grep -v ir-measures >"$folder/suite.txt"
python -m pip install --quiet --target "$root/packages" --python-version 3.13 --only-binary=:all: \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
    "$folder"/wheel/*.whl --requirement "$folder/suite.txt"
mkdir "$root/hedgerow"
git ls-files -z tests spec docs examples scripts benches README.md pyproject.toml \
    | xargs -0 cp --parents --target-directory "$root/hedgerow"

[ $# -gt 0 ] || set -- tests/index tests/query tests/temporal tests/retrieval tests/store
mount --bind /proc "$root/proc"
trap 'umount "$root/proc"' EXIT
chroot "$root" /usr/bin/env -C /hedgerow PYTHONPATH=/packages HOME=/root PYTHONUTF8=1 \
    /usr/bin/python3 -m pytest -q -p no:cacheprovider --numprocesses 2 \
    --ignore tests/retrieval/test_evaluate.py "$@"
