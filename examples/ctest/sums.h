#pragma once
#include <vector>

/// The sum of each 256 values in turn. The number of values is a multiple of 256.
std::vector<int> block_sums(const std::vector<int> &values);
