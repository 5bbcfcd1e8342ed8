"""Rust-CUDA's examples and samples: their host programs and kernels as they are, with this repository's `cuda_std` and `cuda_builder`,
and with `cust` from crates.io."""
import os
import re
import shutil
import subprocess

from emulated import ROOT, Run, link_driver
from programs import outcome

PROGRAMS = """examples/vecadd examples/i128_demo examples/sha2_crates_io samples/introduction/async_api
samples/introduction/matmul""".split()
TRIPLE = "x86_64-unknown-linux-gnu"


def crate_of(name):
    return os.path.join(os.path.abspath(ROOT), "crates", name)


def dependencies(manifest):
    """A manifest with the dependencies replaced."""
    ours = {name: f'{name} = {{ path = "{crate_of(name)}"' for name in ("cuda_std", "cuda_builder")}
    text = re.sub(r"^cust = .*$", 'cust = "0.3.2"', manifest, flags=re.M)
    text = re.sub(r"^cuda_std = .*$", ours["cuda_std"] + ', features = ["glam"] }', text, flags=re.M)
    return re.sub(r"^cuda_builder = .*$", ours["cuda_builder"] + " }", text, flags=re.M)


def copied(folder, scratch, name):
    """A copy of a program that builds without a CUDA toolkit."""
    copy = os.path.join(scratch, os.path.basename(name))
    shutil.copytree(os.path.join(folder, name), copy)
    for path, patch in (("Cargo.toml", True), (os.path.join("kernels", "Cargo.toml"), False)):
        file = os.path.join(copy, path)
        with open(file) as source:
            text = dependencies(source.read())
        if patch:
            helper = crate_of("find_cuda_helper")
            text += f'\n[workspace]\nexclude = ["kernels"]\n[patch.crates-io]\nfind_cuda_helper = {{ path = "{helper}" }}\n'
        else:
            text += "\n[workspace]\n"
        with open(file, "w") as target:
            target.write(text)
    return copy


def rust_cuda(folder, scratch):
    """Yields each program with its outcome."""
    link_driver(scratch)
    link = f'rustflags = ["-Lnative={scratch}", "-Clink-arg=-Wl,--no-as-needed", "-Clink-arg=-lcuda"]'
    os.makedirs(os.path.join(scratch, ".cargo"))
    with open(os.path.join(scratch, ".cargo", "config.toml"), "w") as config:
        config.write(f"[target.{TRIPLE}]\n{link}\n")
    target = os.path.join(scratch, "target")
    for name in PROGRAMS:
        copy = copied(folder, scratch, name)
        command = ["cargo", "build", "-q", "--target", TRIPLE, "--target-dir", target]
        built = subprocess.run(command, cwd=copy, stderr=subprocess.PIPE, text=True)
        if built.returncode:
            error = re.search(r"^error.*$", built.stderr, re.M)
            yield name, "does not build: " + (error.group() if error else built.stderr[-200:])
            continue
        program = os.path.join(target, TRIPLE, "debug", os.path.basename(name))
        yield name, outcome(name, Run([], [program], copy))
