//! Whole-program tests, UI tests of bad kernels, and the course's checks of itself.
