#!/bin/sh
# Installs a build and links programs against it: find_package and pkg-config, shared and static, C
# and C++. Usage: run.sh <build directory> <scratch directory, emptied>
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
cd "$2"
work=$PWD

cmake --install "$build" --prefix "$work/first" >install.log
mv first prefix # an installed tree may be moved
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libvincula.a)")

# linked <program> <yes|no>: does it need libvincula.so?
linked() {
  answer=no
  if readelf -d "$1" | grep -q 'NEEDED.*libvincula'; then answer=yes; fi
  [ $answer = "$2" ] || { echo "$1: linked with libvincula.so: $answer, expected $2"; exit 1; }
}

# 1. find_package
cmake -S "$here" -B cmake -DCMAKE_PREFIX_PATH="$prefix" >cmake.log || { cat cmake.log; exit 1; }
cmake --build cmake >>cmake.log 2>&1 || { cat cmake.log; exit 1; }
for program in c_shared cxx_shared c_static cxx_static; do
  ./cmake/$program || { echo "$program (find_package) failed"; exit 1; }
done
linked cmake/c_shared yes
linked cmake/cxx_static no

# 2. find_package without SuiteSparse and METIS: the shared library is enough
cmake -S "$here" -B shared_only -DCMAKE_PREFIX_PATH="$prefix" -DNEED_STATIC=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_SuiteSparse=ON -DCMAKE_DISABLE_FIND_PACKAGE_METIS=ON >shared_only.log ||
  { cat shared_only.log; exit 1; }

# 3. pkg-config
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # flags are meant to be split
{
  gcc -std=c11 "$here/consumer.c" -o c_shared $(pkg-config --cflags --libs vincula)
  g++ -std=c++17 "$here/consumer.cpp" -o cxx_shared $(pkg-config --cflags --libs vincula)
  # -l takes the shared library where both are; the name of the file decides.
  gcc -std=c11 "$here/consumer.c" -o c_static \
    $(pkg-config --static --cflags --libs vincula | sed 's/-lvincula/-l:libvincula.a/')
  g++ -std=c++17 "$here/consumer.cpp" -o cxx_static \
    $(pkg-config --static --cflags --libs vincula | sed 's/-lvincula/-l:libvincula.a/')
}
for program in c_shared cxx_shared c_static cxx_static; do
  LD_LIBRARY_PATH=$libdir ./$program || { echo "$program (pkg-config) failed"; exit 1; }
done
linked c_shared yes
linked cxx_static no
