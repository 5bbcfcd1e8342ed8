//! x
use crate::failure::*;
use crate::out::Out;
use clap::Args;
/// x
#[derive(Debug, Clone, Default, Args)]
pub struct AnimateArgs {}
/// x
pub fn run(_: &AnimateArgs, _: &mut Out<'_>) -> Result<Ending, Failure> {
    Ok(Ending::Fine)
}
