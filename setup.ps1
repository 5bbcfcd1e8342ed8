# What `setup` does, for Windows: installs what compiling the kernels needs beyond stable Rust. Safe to run twice.
# Where the build looks for it: crates/cuda_builder/src/toolchain.
$ErrorActionPreference = 'Stop'

function Say($text) { Write-Output "setup: $text" }
function Fail($text) {
    [Console]::Error.WriteLine("setup: $text")
    exit 1
}

# Whether a rustup toolchain in this folder has the library source and LLVM's tools.
function Test-Complete($folder) {
    (Test-Path "$folder\lib\rustlib\src\rust\library\core\src\lib.rs") -and
    (Test-Path "$folder\lib\rustlib\*\bin\llc.exe") -and (Test-Path "$folder\lib\rustlib\*\bin\opt.exe")
}

foreach ($program in 'cargo', 'rustc', 'rustup') {
    if (-not (Get-Command $program -ErrorAction SilentlyContinue)) {
        Fail "no ${program}: install stable Rust 1.95 or newer first (https://rustup.rs)"
    }
}

# The linker is Visual Studio's, which rustc finds by itself, or a part of the toolchain: a program tells.
$folder = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
New-Item -ItemType Directory $folder | Out-Null
Set-Content "$folder\linked.rs" 'fn main() {}'
# What a program writes to standard error is no error of this script.
$ErrorActionPreference = 'Continue'
rustc -o "$folder\linked.exe" "$folder\linked.rs" *> "$folder\said.txt"
$linked = $LASTEXITCODE -eq 0
Remove-Item -Recurse -Force $folder
if (-not $linked) {
    Fail @'
no linker: install "Desktop development with C++" of Visual Studio's build tools
       (https://visualstudio.microsoft.com/downloads/), and open a new terminal
'@
}

$rustup = if ($env:RUSTUP_HOME) { $env:RUSTUP_HOME } else { Join-Path $HOME '.rustup' }
$complete = Get-ChildItem "$rustup\toolchains" -ErrorAction SilentlyContinue | Where-Object { Test-Complete $_.FullName } | Select-Object -First 1
if ($complete) {
    Say "rustup toolchain $($complete.Name) can compile kernels; nothing to do"
    exit 0
}
# Adds the components to a nightly toolchain if there is one, else to the one in use.
$toolchain = (rustup toolchain list | Where-Object { $_ -like 'nightly*' } | Select-Object -First 1)
if (-not $toolchain) { $toolchain = rustup show active-toolchain | Select-Object -First 1 }
$toolchain = ($toolchain -split ' ')[0]
Say "rustup component add rust-src llvm-tools --toolchain $toolchain"
rustup component add rust-src llvm-tools --toolchain $toolchain
if ($LASTEXITCODE -ne 0 -or -not (Test-Complete "$rustup\toolchains\$toolchain")) {
    Fail 'rustup could not add rust-src and llvm-tools, which the kernels are compiled with: see what it says above'
}
Say 'done: the rustup toolchain compiles the kernels'
