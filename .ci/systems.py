"""Which modules of a crate differ from one operating system to another.

A crate has at most one: a file, or a folder, named for what it does (`keyboard`, `isolation`). Where a system lacks it, a twin
beside it has the same items and answers so, by `#[cfg_attr(not(..), path = "no_keyboard.rs")] mod keyboard;`. Where several have it,
each in its way, it is a folder with a file for each. Nothing else in production code asks which system it is, or calls one of them,
so that a port is written in one place.
"""
import os
import re

SYSTEM = r"\b(?:target_os|target_family|unix|windows)\b"
# Code for one system, whether it asks or not.
FOR_ONE = re.compile(r"\b(?:std::os::(?:unix|linux|fd|windows)|rustix::|libc::)")
ASKS = re.compile(rf"#!?\[cfg(?:_attr)?\([^\n]*{SYSTEM}|\bcfg!\([^\n]*{SYSTEM}")
# Behind the attribute: others, then the declaration.
DECLARES = re.compile(r"[^\n]*\]\s*(?:#\[[^\n]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
ROOTS = ("lib.rs", "main.rs")


def module(path):
    """A file's module, as a path: `src/a/mod.rs` and `src/a.rs` are `src/a`, and the crate's root is itself."""
    folder, name = os.path.split(path)
    return path if name in ROOTS else folder if name == "mod.rs" else path[:-3]


def below(path):
    """The folder of the modules that a file declares."""
    folder, name = os.path.split(path)
    return folder if name in ROOTS or name == "mod.rs" else path[:-3]


def homes(texts):
    """The modules in which the files of one crate ask for the system. `texts`: their code by path, without tests and comments."""
    found = set()
    for path, text in texts.items():
        declared, asks_itself = [], bool(FOR_ONE.search(text))
        for site in ASKS.finditer(text):
            if site.group().startswith("#![") and os.path.basename(path) in ROOTS:
                return {path}  # The whole crate.
            declares = DECLARES.match(text, site.end())
            declared += [declares.group(1)] if declares else []
            asks_itself |= not declares
        if asks_itself or (len(declared) > 1 and os.path.basename(path) not in ROOTS):
            found.add(module(path))
        found |= {os.path.join(below(path), name) for name in declared}
    return {home for home in found if not any(home.startswith(other + "/") for other in found)}


def scattered(texts, crates):
    """Lines that list each crate's module, and sentences about crates that have more. `crates`: their folders."""
    listed, wrong = [], []
    for crate in sorted(crates):
        own = {path: text for path, text in texts.items() if path.startswith(crate + "/src/")}
        places = sorted(os.path.relpath(home, crate + "/src") for home in homes(own))
        if places:
            listed.append(f"{crate}: {', '.join(places)}")
        if len(places) > 1:
            wrong.append(
                f"{crate}: {', '.join(places)} ask which system it is, or call one; put it into one module, named for what it does, with a twin "
                "for systems that lack it (.ci/systems.py)"
            )
    return listed, wrong
