//! The symbols of several PTX texts, and the definition of each (PTX ISA, "Linking Directives").

mod error;
mod symbols;
