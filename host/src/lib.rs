//! Devices, plans, and each lab's problem, reference and solutions.
