//! The functions of the driver that programs call, a file for each kind of object.

mod array;
mod attributes;
mod capture;
mod context;
mod copy;
mod device;
mod event;
mod graph;
mod graph_memory;
mod graph_node;
mod handshake;
mod jit_log;
mod launch;
mod link;
mod memory;
mod missing;
mod module;
mod occupancy;
mod pool;
mod proc_address;
mod reference;
mod stream;
mod tables;
mod tensor;
mod texture;
mod user_object;
