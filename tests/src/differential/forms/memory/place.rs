//! Memory of one thread in every state space.

/// Where a thread has 64 bytes of its own, and how its address is made.
#[derive(Clone, Copy)]
pub struct Place {
    /// What follows `ld` and `st`; empty for generic addresses.
    pub space: &'static str,
    /// How tables call it.
    pub name: &'static str,
    /// Makes the address in `address`.
    pub setup: &'static str,
    /// The register that holds it.
    pub address: &'static str,
    /// Declarations in front of the kernel.
    pub module: &'static str,
}

pub(super) const TILE: &str = ".shared .align 16 .b8 tile[8192];";

pub const GLOBAL: Place = Place {
    space: ".global",
    name: "global",
    setup: "",
    address: "%scratch",
    module: "",
};

pub const SHARED: Place = Place {
    space: ".shared",
    name: "shared",
    setup: "mov.u32 %r15, tile; mad.lo.u32 %r15, %thread, 64, %r15;",
    address: "%r15",
    module: TILE,
};

pub const GENERIC_GLOBAL: Place = Place {
    space: "",
    name: "generic to global",
    setup: "cvta.global.u64 %d15, %scratch;",
    address: "%d15",
    module: "",
};

pub const GENERIC_SHARED: Place = Place {
    space: "",
    name: "generic to shared",
    setup: "mov.u64 %d15, tile; cvta.shared.u64 %d15, %d15; mad.wide.u32 %d15, %thread, 64, %d15;",
    address: "%d15",
    module: TILE,
};

pub(super) const LOCAL: Place = Place {
    space: ".local",
    name: "local",
    setup: ".local .align 16 .b8 depot[64]; mov.u64 %d15, depot;",
    address: "%d15",
    module: "",
};

pub(super) const GENERIC_LOCAL: Place = Place {
    space: "",
    name: "generic to local",
    setup: ".local .align 16 .b8 depot[64]; mov.u64 %d15, depot; cvta.local.u64 %d15, %d15;",
    address: "%d15",
    module: "",
};

pub(super) const PLACES: [Place; 6] = [
    GLOBAL,
    SHARED,
    GENERIC_GLOBAL,
    GENERIC_SHARED,
    LOCAL,
    GENERIC_LOCAL,
];
