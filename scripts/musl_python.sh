#!/bin/sh
# Build a CPython linked to musl, which Debian does not package: see `make test-emulated`.
#
#     sh scripts/musl_python.sh FOLDER ARCHITECTURE
#
# It is installed in FOLDER/opt/python. zig compiles Debian's sources for ARCHITECTURE (aarch64 or x86_64) with zlib and
# the engine's SQLite, but without ctypes and ssl, whose libraries are not worth the effort here.
# Needs python3.13, because a cross build requires the same version on the host.
set -eu

mkdir -p "$1"
folder=$(realpath "$1")
target=$2-linux-musl
PATH="$PWD/.venv/bin:$PATH"

for tool in apt-get cargo make python3.13; do
    "$tool" --version >/dev/null || {
        echo "$tool does not run, which a CPython for musl is made with" >&2
        exit 1
    }
done
sqlite=$(cargo metadata --locked --format-version 1 | grep -o '[^"]*/libsqlite3-sys-[^"/]*/' | head -n 1)sqlite3

# Fetch the sources of Debian 13 from the system's mirror, whatever version the system has.
sources=$folder/sources
mkdir -p "$sources/lists/partial" "$sources/cache/archives/partial"
cd "$sources"
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format "\$(REPO_URI)" | grep -m 1 '/debian/$')}
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >sources.list
fetch() {
    apt-get -o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD/cache" -o APT::Sandbox::User= -qq "$@"
}
fetch update
fetch source --tar-only python3.13 zlib
for archive in python3.13_*.orig.tar.xz zlib_*.orig.tar.gz; do
    tar -xf "$archive"
done

# zig links statically for musl by default, and treats build dates as errors.
CC="python -m ziglang cc -target $target -dynamic -Wno-date-time"
# CPython detects musl by this macro, which musl's headers define and zig's do not.
CPP="$CC -E -D__DEFINED_va_list"
AR="python -m ziglang ar"
export CC CPP AR
libraries=$folder/libraries
mkdir -p "$libraries"
cd "$sources"/zlib-*/
CHOST=$target ./configure --static --prefix="$libraries"
make --silent install
cd "$libraries"
$CC -O2 -fPIC -DSQLITE_ENABLE_FTS5 -I "$sqlite" -c "$sqlite/sqlite3.c"
$AR rcs lib/libsqlite3.a sqlite3.o
cp "$sqlite/sqlite3.h" include

cd "$sources"/Python-3.13*/
./configure --quiet --build="$(uname -m)-linux-gnu" --host="$target" --with-build-python="$(command -v python3.13)" \
    --prefix=/opt/python --without-ensurepip --disable-test-modules \
    ac_cv_buggy_getaddrinfo=no ac_cv_working_tzset=yes ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no \
    py_cv_module__ctypes=n/a PKG_CONFIG_LIBDIR="$libraries/lib/pkgconfig" \
    LIBSQLITE3_CFLAGS="-I$libraries/include" LIBSQLITE3_LIBS="-L$libraries/lib -lsqlite3"
# Written here, because an earlier patch release of python3.13 fails to generate it.
echo "linux-$2-3.13" >platform
make --silent --old-file=platform --jobs "$(nproc)"
make --silent --old-file=platform install DESTDIR="$folder"
