//! Paths of files as forges know them: from the root of the repository, in which commands run.

use std::path::Path;

/// The file from the working directory, with `/` between its parts. One that is elsewhere stays
/// absolute.
pub fn from_here(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(file);
    let path = path.strip_prefix(&here).unwrap_or(path);
    let path = path.strip_prefix(".").unwrap_or(path);
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    }
}

/// A reference to the file as a URI has it (RFC 3986, section 2): all but unreserved characters, in
/// bytes of UTF-8, after a `%`.
pub fn uri(file: &str) -> String {
    let path = from_here(file);
    let mut uri = String::new();
    // A drive of Windows has no `/` before it.
    if path.starts_with('/') {
        uri += "file://";
    } else if path.get(1..3) == Some(":/") {
        uri += "file:///";
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_working_directory() {
        let here = std::env::current_dir().unwrap();
        let file = here.join("mine/kernels.rs");
        assert_eq!(from_here(file.to_str().unwrap()), "mine/kernels.rs");
        assert_eq!(from_here("./mine/kernels.rs"), "mine/kernels.rs");
        assert_eq!(from_here("/usr/include/cub.cuh"), "/usr/include/cub.cuh");
    }

    #[test]
    fn uris_have_no_characters_of_their_own_in_a_path() {
        assert_eq!(
            uri("ein Ordner/größe#1.rs"),
            "ein%20Ordner/gr%C3%B6%C3%9Fe%231.rs"
        );
        assert_eq!(uri("/usr/include/cub.cuh"), "file:///usr/include/cub.cuh");
        assert_eq!(uri("C:/cuda/cub.cuh"), "file:///C%3A/cuda/cub.cuh");
    }
}
