//! Executes a typed PTX program on the CPU, with every access checked and every count exact.
