//! PTX text to a typed program: lexer, parser, lowering.
