//! Writes the kernels' PTX as devices of some compute capabilities have it, for other programs to
//! read: `FOLDER/sm_75/LAB.ptx`.
//!
//! ```text
//! cargo run -p host --example texts -- FOLDER 7.5 8.0
//! ```

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("which folder?")?;
    for word in words {
        let (major, minor) = word.split_once('.').ok_or("write 7.5")?;
        let capability = (major.parse()?, minor.parse()?);
        let to = Path::new(&folder).join(format!("sm_{major}{minor}"));
        std::fs::create_dir_all(&to)?;
        for module in host::modules() {
            let text = module.for_device(capability).ptx();
            std::fs::write(to.join(format!("{}.ptx", module.name())), text)?;
        }
    }
    Ok(())
}
