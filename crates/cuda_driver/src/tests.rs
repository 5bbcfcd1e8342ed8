use super::*;

#[test]
fn absence_is_an_ordinary_answer() {
    let reason = open_first(&["libno-such-driver.so.1", "/no/such/libcuda.so.1"]).unwrap_err();
    insta::assert_snapshot!(reason, @"libcuda.so.1 not found");
}

#[test]
fn a_file_that_is_no_library_says_so() {
    let file = std::env::temp_dir().join(format!("no-library-{}.so", std::process::id()));
    fs::write(&file, "not ELF").unwrap();
    let path = file.to_str().unwrap();
    let reason = open_first(&[path]).unwrap_err().replace(path, "PATH");
    fs::remove_file(&file).unwrap();
    insta::assert_snapshot!(reason, @"PATH: file too short");
}

#[test]
fn stubs_are_told_by_their_folder() {
    assert!(is_stub(
        "/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so"
    ));
    assert!(is_stub("/opt/cuda/lib64/stubs/libcuda.so.1"));
    assert!(!is_stub("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"));
    assert!(!is_stub("/usr/local/cuda/lib64/stubs/libcudart.so"));
}
