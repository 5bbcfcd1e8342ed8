#!/usr/bin/env bash
# Runs the examples of suites under the emulated GPU, as their pages say: examples/ctest and examples/pytest, each with a right
# kernel that passes and one without a barrier that is told.
#
# CMake, nvcc and a Python (PYTHON) with numba-cuda and pytest are not everywhere: what lacks them is skipped, and says so.
# EMULATE names the program, by default target/debug/emulate.
set -euo pipefail
cd "$(dirname "$0")/.."
emulate=$(realpath "${EMULATE:-target/debug/emulate}")
python=${PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect CODE PATTERN COMMAND...: the exit code, and what is told.
expect() {
    local code=0 said
    said=$("${@:3}" 2>&1) || code=$?
    if [ "$code" != "$1" ] || ! grep -q "$2" <<<"$said"; then
        echo "examples: \`${*:3}\` ended with $code, and not with $1 and \`$2\`:" >&2
        echo "$said" >&2
        exit 1
    fi
}

if ! command -v cmake >/dev/null || ! command -v nvcc >/dev/null; then
    echo "examples: skipped ctest: no cmake, or no nvcc"
else
    cp -R examples/ctest "$scratch"
    cd "$scratch/ctest"
    for barrier in OFF ON; do
        cmake -S . -B build -DWITHOUT_BARRIER=$barrier >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
        cmake --build build >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
        case $barrier in
        OFF) expect 0 "100% tests passed" "$emulate" -- ctest --test-dir build ;;
        ON) expect 1 "race in shared memory.*partial" "$emulate" -- ctest --test-dir build --verbose ;;
        esac
    done
    cd - >/dev/null
    echo "examples: ctest is right, and the missing barrier is told"
fi

if ! "$python" -c 'import numba.cuda, pytest' 2>/dev/null; then
    echo "examples: skipped pytest: no numba-cuda, or no pytest, in $python"
else
    cp -R examples/pytest "$scratch"
    cd "$scratch/pytest"
    # The wheel's plugin, which pip would have installed.
    export PYTHONPATH=$OLDPWD/crates/emulate/python
    expect 1 "race in shared memory" "$emulate" -- "$python" -B -m pytest -p pytest_emulate -q -rA
    expect 1 "1 failed, 2 passed" "$emulate" -- "$python" -B -m pytest -p pytest_emulate -q -W ignore
    cd - >/dev/null
    echo "examples: pytest fails the test that races, and no other"
fi
