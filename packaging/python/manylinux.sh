#!/bin/sh
# What a wheel is built of, in the image of manylinux_2_28: packages of AlmaLinux 8 and EPEL, and isl from its sources, whose package
# there, 0.16, has no C++ interface. add_licences.py finds its licence in /usr/local/share/licenses.
set -eu
isl=isl-0.25
sha256=be7b210647ccadf90a2f0b000fca11a4d40546374a850db67adb32fad4b230d9
dnf install -y epel-release
dnf config-manager --set-enabled powertools
dnf install -y json-devel cli11-devel libdeflate-devel gmp-devel libpng-devel nifticlib-devel zlib-devel
cd /tmp
curl -fLO "https://libisl.sourceforge.io/$isl.tar.xz"
echo "$sha256  $isl.tar.xz" | sha256sum -c
tar -xJf "$isl.tar.xz"
cd "$isl"
./configure --disable-static
make -j "$(nproc)" install
ldconfig /usr/local/lib
mkdir -p /usr/local/share/licenses/libisl
cp LICENSE /usr/local/share/licenses/libisl/
