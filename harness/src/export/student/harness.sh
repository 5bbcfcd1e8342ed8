#!/bin/sh
# Stands in for the course's program: builds it when it is first used, and whenever its sources
# change.
root=$(cd "$(dirname "$0")/.." && pwd) || exit
(cd "$root" && cargo build --quiet -p harness) && exec "${CARGO_TARGET_DIR:-$root/target}/debug/harness" "$@"
