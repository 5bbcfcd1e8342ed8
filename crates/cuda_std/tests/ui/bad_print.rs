use cuda_std::println;

pub fn k(x: f32) {
    println!(x);
    println!("{} {}", x);
    println!("{:^8}", x);
}

fn main() {}
