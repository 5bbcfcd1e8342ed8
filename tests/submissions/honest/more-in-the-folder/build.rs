fn main() {
    panic!("nobody runs this");
}
