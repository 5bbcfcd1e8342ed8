//! What a submission's code and its compilers run in.
