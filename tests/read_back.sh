#!/bin/sh
# Writes small fields with the harness and reads them back with numpy and VTK (PyPI: numpy,
# pyvista), which do not depend on this project; then damages the files and checks that the readers
# notice. Usage: tests/read_back.sh [DEVICE]   (default: cpu)
set -eu
cd "$(dirname "$0")/.."

device=${1:-cpu}
venv=target/read-back-venv
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy pyvista
read_back() {
    "$venv/bin/python" tests/read_back.py "$@"
}

files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
harness() {
    cargo run --quiet -p harness -- run "$@" --device "$device" >/dev/null
}
for format in npy vti; do
    harness poisson --n 17 --iterations 40 --output "$format" --out "$files"
done
# Sizes that differ along every axis, so that axes in another order are seen.
harness wave3d --shape 13,14,20 --steps 3 --out-period 1 --dx 5 --dt 0.0005 --out "$files/wave"

read_back "$files/poisson-17.npy" "$files/poisson-17.vti" 17 40
read_back "$files/wave/wave3d.pvd" 13 14 20 5 0.0005 1 2 3

# One damage at a time: $1 says what, the rest is the check that must fail.
fails() {
    damage=$1
    shift
    if read_back "$@" >"$files/output" 2>&1; then
        echo "read_back.sh: $damage was not noticed" >&2
        exit 1
    fi
    echo "noticed: $damage ($(tail -n 1 "$files/output"))"
}
field=$((17 * 17 * 17 * 8))
# A byte of a value deep inside.
cp "$files/poisson-17.vti" "$files/bit.vti"
printf '\101' | dd of="$files/bit.vti" bs=1 seek=$(($(wc -c <"$files/bit.vti") - field / 2)) conv=notrunc 2>/dev/null
fails "a changed byte" "$files/poisson-17.npy" "$files/bit.vti" 17 40
head -c $(($(wc -c <"$files/poisson-17.npy") - 8)) "$files/poisson-17.npy" >"$files/short.npy"
fails "a lost value" "$files/short.npy" "$files/poisson-17.vti" 17 40
sed 's/Spacing="0.125/Spacing="0.126/' "$files/poisson-17.vti" >"$files/spacing.vti"
fails "another spacing" "$files/poisson-17.npy" "$files/spacing.vti" 17 40
fails "another number of iterations" "$files/poisson-17.npy" "$files/poisson-17.vti" 17 41
sed 's/u-000003/u-000002/' "$files/wave/wave3d.pvd" >"$files/wave/wrong.pvd"
fails "a field twice in the series" "$files/wave/wrong.pvd" 13 14 20 5 0.0005 1 2 3
fails "axes in another order" "$files/wave/wave3d.pvd" 14 13 20 5 0.0005 1 2 3
