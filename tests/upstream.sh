#!/usr/bin/env bash
# Counts how many of Rust-CUDA's own files the crates here compile, unmodified: its examples, its
# samples, its path tracer, and its tests of the compiler. Only the line of the dependency
# `cuda_std` is ours.
#
# usage: tests/upstream.sh CHECKOUT [PATTERN]
#
# CHECKOUT is a folder with https://github.com/Rust-GPU/rust-cuda. PATTERN, of a shell, selects
# files. The table of what remains is docs/reference/rust-cuda.md.
set -uo pipefail
cd "$(dirname "$0")/.."

checkout=$(realpath "${1:?usage: tests/upstream.sh CHECKOUT [PATTERN]}")
pattern=${2:-*}
dependency="cuda_std = { path = \"$PWD/crates/cuda_std\", features = [\"glam\", \"half\", \"alloc\"] }"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --quiet -p cuda_builder --example ptx || exit 1
declare -A right=() all=()

# Compiles the crate in $2, of group $1 and named $3; $4 is what it must do: build or fail.
try() {
    all[$1]=$((${all[$1]:-0} + 1))
    if target/debug/examples/ptx "$2" "$work/out.ptx" >"$work/said" 2>&1; then did=build; else did=fail; fi
    if [ "$did" = "$4" ]; then
        right[$1]=$((${right[$1]:-0} + 1))
    else
        printf '%s: %s\n' "$3" "$(grep -m1 -E '^error' "$work/said" || tail -n1 "$work/said")"
    fi
}

while read -r file; do
    name=${file#"$checkout"/}
    # shellcheck disable=SC2053 # The pattern is one.
    [[ $name == $pattern ]] || continue
    crate=$work/ui
    mkdir -p "$crate/src"
    cp "$file" "$crate/src/lib.rs"
    # Some say their own name, which is the file's.
    stem=$(basename "$file" .rs)
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n' "$stem" "$dependency" \
        >"$crate/Cargo.toml"
    # The others must fail. Those on features of architectures fail there for the architecture's
    # sake alone.
    if grep -q '^// build-pass' "$file"; then expected=build; else expected=fail; fi
    case $name in */target_feature_*) expected=build ;; esac
    try compiletests "$crate" "$name" "$expected"
done < <(find "$checkout/tests/compiletests/ui" -name '*.rs' 2>/dev/null | sort)

while read -r manifest; do
    crate=$(dirname "$manifest")
    name=${crate#"$checkout"/}
    # shellcheck disable=SC2053
    [[ $name == $pattern ]] || continue
    copy=$work/example
    rm -rf "$copy"
    cp -r "$crate" "$copy"
    sed -i "s|^cuda_std = .*|$dependency|" "$copy/Cargo.toml"
    printf '\n[workspace]\n' >>"$copy/Cargo.toml"
    try examples "$copy" "$name" build
done < <(find "$checkout/examples" "$checkout/samples" -path '*/kernels/Cargo.toml' 2>/dev/null | sort)

# The path tracer has crates of Rust-CUDA's as dependencies, at places relative to its own.
tracer=crates/optix/examples/path_tracer/kernels
# shellcheck disable=SC2053
if [ -d "$checkout/$tracer" ] && [[ $tracer == $pattern ]]; then
    mkdir -p "$work/tree/$(dirname $tracer)"
    cp -r "$checkout/$tracer" "$work/tree/$tracer"
    for crate in gpu_rand cust_core cust_derive; do cp -r "$checkout/crates/$crate" "$work/tree/crates/"; done
    sed -i "s|^cuda_std = .*|$dependency|" "$work/tree/$tracer/Cargo.toml" "$work/tree/crates/gpu_rand/Cargo.toml"
    printf '\n[workspace]\n' >>"$work/tree/$tracer/Cargo.toml"
    try path_tracer "$work/tree/$tracer" "$tracer" build
fi

for group in "${!all[@]}"; do
    echo "$group: ${right[$group]:-0} of ${all[$group]}"
done
