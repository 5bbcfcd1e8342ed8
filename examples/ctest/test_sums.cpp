#include "sums.h"

#include <cstdio>
#include <numeric>

int main() {
    std::vector<int> values(4 * 256);
    std::iota(values.begin(), values.end(), 0);
    const std::vector<int> sums = block_sums(values);
    for (size_t block = 0; block < sums.size(); block++) {
        const auto start = values.begin() + 256 * block;
        const int expected = std::accumulate(start, start + 256, 0);
        if (sums[block] != expected) {
            std::printf("block %zu: %d, and not %d\n", block, sums[block], expected);
            return 1;
        }
    }
    return 0;
}
