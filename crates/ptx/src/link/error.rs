//! Why texts cannot be linked.

use crate::error::Error;

/// Texts that no linker puts together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A part is not PTX.
    #[error("`{part}` cannot be linked: {error}")]
    Text {
        /// The part's name.
        part: String,
        /// The reason.
        error: Box<Error>,
    },
    /// Symbols that parts use, and that no part defines.
    #[error("{}", undefined(.symbols))]
    Undefined {
        /// Each with the first part that uses it.
        symbols: Vec<(String, String)>,
    },
    /// Two parts define a symbol, neither of them as `.weak` or `.common`.
    #[error("multiple definition of `{symbol}` in `{part}`, first defined in `{first}`")]
    Duplicate {
        /// The symbol.
        symbol: String,
        /// The second part that defines it.
        part: String,
        /// The first.
        first: String,
    },
    /// Two parts declare a symbol in different ways.
    #[error("the {what} of `{symbol}` in `{part}` is not that in `{first}`")]
    Mismatch {
        /// The property that differs: its size, for example.
        what: &'static str,
        /// The symbol.
        symbol: String,
        /// The part that declares it in another way.
        part: String,
        /// The part to which it is compared.
        first: String,
    },
    /// A `.common` variable that is larger than the definition that is chosen.
    #[error(
        "the common symbol `{symbol}` in `{part}` is larger than its definition with a value in `{first}`"
    )]
    LargerCommon {
        /// The symbol.
        symbol: String,
        /// The part with the larger one.
        part: String,
        /// The part that defines it.
        first: String,
    },
    /// Two parts are for architectures that no device runs both of.
    #[error(
        "`{part}` is for {target} and `{first}` for {first_target}: no device runs both; compile them for one"
    )]
    Targets {
        /// A part.
        part: String,
        /// Its architecture.
        target: String,
        /// Another part.
        first: String,
        /// The other's architecture.
        first_target: String,
    },
    /// There is nothing to link.
    #[error("there is no PTX to link")]
    Nothing,
}

fn undefined(symbols: &[(String, String)]) -> String {
    let line = |(symbol, part): &(String, String)| {
        format!("undefined reference to `{symbol}` in `{part}`")
    };
    symbols.iter().map(line).collect::<Vec<_>>().join("\n")
}
