//! Landlock: which files.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};

use super::super::Access;

/// The newest Landlock whose rights are asked for; an older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V6;

/// The rules, ready for the child to put in force; none if the kernel has no Landlock.
pub fn ruleset(access: &Access) -> Result<Option<OwnedFd>, RulesetError> {
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let write: BitFlags<AccessFs> =
        AccessFs::from_all(NEWEST) & !(AccessFs::Execute | AccessFs::IoctlDev);
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        // No rule allows any port, so all are refused.
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(&access.read, read))?
        .add_rules(path_beneath_rules(&access.write, write))?;
    Ok(ruleset.into())
}
