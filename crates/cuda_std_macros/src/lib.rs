//! The #[kernel] attribute and its friends.
