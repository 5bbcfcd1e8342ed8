#!/bin/sh
# Compares the textures of a GPU with the emulated device's, value by value. On a machine with nvcc, and a GPU for `gpu`:
#
#   tests/textures.sh emulated FILE     writes the emulated device's values
#   tests/textures.sh gpu FILE          writes the GPU's, and needs nothing of this project but tests/cases
#   tests/textures.sh compare A B       lists the lines that differ, and how many do
#
# The programs are tests/cases/textures.cu and rare_textures.cu. Their fetches by points are to be equal; filtered ones may differ in the last place
# where a GPU adds in another order, and by a weight's last bit where it rounds weights in another way.
# NVCC names the compiler, HARNESS the program `harness` (target/debug/harness).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build() {
    for program in textures rare_textures; do
        "${NVCC:-nvcc}" -std=c++17 "$@" "$here/cases/$program.cu" -o "$scratch/$program"
    done
}

case "${1:-}" in
emulated)
    build -arch=compute_90
    for program in textures rare_textures; do
        "${HARNESS:-$here/../target/debug/harness}" emulate -- "$scratch/$program" values
    done >"$2"
    ;;
gpu)
    build -arch=native
    for program in textures rare_textures; do
        "$scratch/$program" values
    done >"$2"
    ;;
compare)
    diff "$2" "$3" | head -40 || true
    # Of each kind, the lines that differ, of all of it.
    paste -d'|' "$2" "$3" | awk -F'|' '{ split($1, name, " \\("); all[name[1]]++; if ($1 != $2) other[name[1]]++ }
        END { for (kind in all) printf "%s: %d of %d differ\n", kind, other[kind], all[kind] }' | sort
    ;;
*)
    sed -n '2,6p' "$0"
    exit 2
    ;;
esac
