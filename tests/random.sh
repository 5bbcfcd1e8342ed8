#!/bin/sh
# Random functions on host and emulated device, 500 at a time with another seed: usage: tests/random.sh [COUNT [FIRST SEED]]
# (default: 20000 from seed 1000). Goes on behind a group that fails, and says at the end how many did.
set -eu
cd "$(dirname "$0")/.."

count=${1:-20000}
seed=${2:-1000}
tried=0
failed=
while [ "$tried" -lt "$count" ]; do
    if ! RANDOM_FUNCTIONS=500 RANDOM_SEED=$seed cargo test --quiet -p cuda-std-tests random; then
        failed="$failed $seed"
    fi
    tried=$((tried + 500))
    seed=$((seed + 1))
    echo "$tried functions; seeds that failed:${failed:- none}"
done
[ -z "$failed" ]
