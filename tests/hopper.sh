#!/bin/sh
# Compares products of warpgroups and tiles of tensors of an H100 or H200 with the emulated device's, value by value. On a machine
# with nvcc, and such a GPU for `gpu`:
#
#   tests/hopper.sh emulated FILE     writes the emulated device's values
#   tests/hopper.sh gpu FILE          writes the GPU's, and needs nothing of this project but tests
#   tests/hopper.sh compare A B       lists the lines that differ, and how many do
#
# The program is tests/hopper_values.cu. All lines are to be equal, but those that ask for a map of a kind that the
# emulated driver refuses: it says that it is not supported, and an H200 that it is invalid.
# NVCC names the compiler, HARNESS the program `harness` (target/debug/harness).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build() {
    "${NVCC:-nvcc}" -std=c++17 "$@" "$here/hopper_values.cu" -o "$scratch/hopper" -ldl
}

case "${1:-}" in
emulated)
    build -gencode arch=compute_90a,code=compute_90a
    "${HARNESS:-$here/../target/debug/harness}" emulate -- "$scratch/hopper" >"$2"
    ;;
gpu)
    build -gencode arch=compute_90a,code=sm_90a
    "$scratch/hopper" >"$2"
    ;;
compare)
    diff "$2" "$3" | head -40 || true
    # Of each kind, the lines that differ, of all of it.
    paste -d'|' "$2" "$3" | awk -F'|' '{ kind = $1; sub(/( \(|: |\|).*/, "", kind); if (match($1, /pattern [0-9]/)) kind = kind " " substr($1, RSTART, RLENGTH); all[kind]++; if ($1 != $2) other[kind]++ }
        END { for (kind in all) printf "%s: %d of %d differ\n", kind, other[kind], all[kind] }' | sort
    ;;
*)
    sed -n '2,8p' "$0"
    exit 2
    ;;
esac
