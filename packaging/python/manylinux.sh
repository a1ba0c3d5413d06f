#!/bin/sh
# What a wheel is built of, in the image of manylinux_2_28: gmp, libpng and zlib are AlmaLinux 8's own. What is of EPEL there, or too
# old (isl 0.16 has no C++ interface), comes from its sources, in the versions of Debian 12, with which everything is tested: a commit
# is its own checksum. add_licences.py finds the licences of what is linked in /usr/local/share/licenses.
set -eu
: "${GITHUB:=https://github.com}" "${PREFIX:=/usr/local}" "${ISL:=https://libisl.sourceforge.io}"

# NAME REPOSITORY COMMIT: its tree in NAME.
source_of() {
  git init -q "$1"
  git -C "$1" fetch -q --depth 1 "$GITHUB/$2" "$3"
  git -C "$1" checkout -q FETCH_HEAD
}
# NAME OPTION...: built and installed.
built() {
  name=$1
  shift
  cmake -S "$name" -B "$name/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" "$@" >/dev/null
  cmake --build "$name/build" --parallel "$(nproc)" >/dev/null
  cmake --install "$name/build" >/dev/null
}
# NAME FILE: its licence.
licence() {
  mkdir -p "$PREFIX/share/licenses/$1"
  cp "$2" "$PREFIX/share/licenses/$1/"
}

if command -v dnf >/dev/null; then dnf install -y gmp-devel libpng-devel zlib-devel; fi
cd "$(mktemp -d)"

source_of json nlohmann/json bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d # 3.11.2
built json -DJSON_BuildTests=OFF
source_of cli11 CLIUtils/CLI11 70f8072f9dd2292fd0b9f9e5f58e279f60483ed3 # 2.1.2
built cli11 -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF
source_of nifti NIFTI-Imaging/nifti_clib 96b9954fafcf3bd69a4ee2091b0d707ed2077697 # 3.0.1, of which a header is taken
mkdir -p "$PREFIX/include/nifti"
cp nifti/niftilib/nifti1.h "$PREFIX/include/nifti/"
source_of libdeflate ebiggers/libdeflate 0d1779a071bcc636e5156ddb7538434da7acad22 # 1.14
make -C libdeflate -j "$(nproc)" PREFIX="$PREFIX" install >/dev/null
rm "$PREFIX/lib/libdeflate.a"
licence libdeflate libdeflate/COPYING

curl -fsLO "$ISL/isl-0.25.tar.xz"
echo "be7b210647ccadf90a2f0b000fca11a4d40546374a850db67adb32fad4b230d9  isl-0.25.tar.xz" | sha256sum -c
tar -xJf isl-0.25.tar.xz
cd isl-0.25
./configure --disable-static --prefix="$PREFIX" >/dev/null
make -j "$(nproc)" install >/dev/null
licence libisl LICENSE
if [ "$PREFIX" = /usr/local ]; then ldconfig /usr/local/lib /usr/local/lib64; fi
