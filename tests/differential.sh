#!/bin/sh
# Builds the differential test as one program that needs nothing beside it, and says how to run it
# on a machine with a GPU. Usage: tests/differential.sh [FOLDER]   (default: target/differential)
set -eu
cd "$(dirname "$0")/.."

folder=${1:-target/differential}
built=$(cargo test --release -p course-tests --test differential --no-run 2>&1) || {
    printf '%s\n' "$built" >&2
    exit 1
}
program=$(printf '%s\n' "$built" | sed -n 's/^ *Executable .*differential.* (\(.*\))$/\1/p')
if [ ! -x "$program" ]; then
    printf '%s\n' "$built" >&2
    echo "cargo named no program" >&2
    exit 1
fi

mkdir -p "$folder"
cp "$program" "$folder/differential"
cat <<END
$folder/differential is built. Carry it to a machine with a GPU of compute capability 9.0 or higher, and run

    ./differential --nocapture

It prints a table of all instructions, every difference with its operands, and one line that sums up; its exit code is
0 if and only if there is no difference. Without a GPU it compares the emulated device with Rust alone, and says so.
END
