//! Tests, times and shows the labs.
