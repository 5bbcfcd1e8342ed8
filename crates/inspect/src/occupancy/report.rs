//! The report: limits, advice, and the same kernel in blocks of other sizes.

use lab::occupancy::{BlockNeeds, Gpu, Limiter, Occupancy, occupancy};

use terminal::look::Look;
use terminal::table::{Align, Table, Tone};
use units::{count, grouped, three};

/// Block sizes that are compared.
const SIZES: [u32; 9] = [32, 64, 96, 128, 192, 256, 384, 512, 1024];

/// A latency to hide.
pub struct Latency {
    /// How long an instruction takes.
    pub cycles: f64,
    /// How many are to be issued in a cycle.
    pub throughput: f64,
    /// How many a warp has in flight.
    pub independent: u32,
}

/// The occupancy of a block on a GPU.
pub struct Report {
    pub gpu: &'static Gpu,
    pub needs: BlockNeeds,
    pub held: Occupancy,
    pub latency: Option<Latency>,
}

impl Report {
    /// As text.
    pub fn render(&self, look: Look) -> String {
        let Report {
            gpu, needs, held, ..
        } = self;
        let (major, minor) = gpu.compute_capability;
        let title = format!(
            "{}  {}, compute capability {major}.{minor}",
            gpu.name, gpu.products
        );
        let title = look.title(&look.wrapped(&title, 0));
        let block = format!(
            "a block: {}, {} each, {} of shared memory",
            count(needs.threads as usize, "thread"),
            count(needs.registers as usize, "register"),
            count(needs.shared_mem_bytes as usize, "byte"),
        );
        let sum = format!(
            "{}, {} of {} warps: occupancy {}",
            count(held.blocks as usize, "block"),
            held.warps,
            gpu.warps,
            percent(held.share)
        );
        let mut parts = vec![
            format!("{title}\n{}", look.wrapped(&block, 2)),
            self.limits(look),
            format!(
                "{}\n{}",
                look.title(&look.wrapped(&sum, 2)),
                self.advice(look)
            ),
        ];
        parts.extend(
            self.latency
                .as_ref()
                .map(|latency| self.hiding(latency, look)),
        );
        parts.push(self.sizes(look));
        parts.join("\n\n")
    }

    /// The number of blocks that each limit allows.
    fn limits(&self, look: Look) -> String {
        let Report {
            gpu, needs, held, ..
        } = self;
        let warps = needs.threads.div_ceil(Gpu::WARP);
        let of_block_and_all = |limiter: &Limiter| match limiter {
            Limiter::Warps => (warps, gpu.warps),
            Limiter::Blocks => (1, gpu.blocks),
            Limiter::Registers => (held.registers_per_warp * warps, gpu.registers),
            Limiter::SharedMemory => (held.shared_mem_per_block_bytes, gpu.shared_mem_bytes),
        };
        let tone = |blocks: &u32| {
            if *blocks == held.blocks {
                Tone::Caution
            } else {
                Tone::Normal
            }
        };
        Table::new(&held.allowed)
            .toned("limit", Align::Left, |(limiter, blocks)| {
                (limiter.name().to_owned(), tone(blocks))
            })
            .right("of a block", |(limiter, _)| {
                Some(grouped(of_block_and_all(limiter).0.into()))
            })
            .right("of a multiprocessor", |(limiter, _)| {
                Some(grouped(of_block_and_all(limiter).1.into()))
            })
            .toned("blocks", Align::Right, |(_, blocks)| match *blocks {
                u32::MAX => ("any".to_owned(), tone(blocks)),
                _ => (blocks.to_string(), tone(blocks)),
            })
            .toned("", Align::Left, |(_, blocks)| {
                if *blocks == held.blocks {
                    ("<- the limit".to_owned(), Tone::Caution)
                } else {
                    (String::new(), Tone::Normal)
                }
            })
            .render(look, 2)
    }

    /// The limit that binds, and the change that would let more blocks in.
    fn advice(&self, look: Look) -> String {
        let Report {
            gpu, needs, held, ..
        } = self;
        if held.warps == gpu.warps {
            return look.wrapped("a multiprocessor cannot hold more warps", 2);
        }
        let limiters: Vec<Limiter> = held.limiters().collect();
        let names: Vec<&str> = limiters.iter().map(|limiter| limiter.name()).collect();
        let mut lines = vec![format!("limited by {}", names.join(" and "))];
        // Where several limit, none of them alone lets more in.
        if let [limiter] = limiters[..] {
            let more = match limiter {
                Limiter::Registers => {
                    with_more_blocks(gpu, held, fewer_registers(*needs)).map(|(block, blocks)| {
                        (format!("{} registers per thread", block.registers), blocks)
                    })
                }
                Limiter::SharedMemory => {
                    let less =
                        (0..needs.shared_mem_bytes)
                            .rev()
                            .map(|shared_mem_bytes| BlockNeeds {
                                shared_mem_bytes,
                                ..*needs
                            });
                    with_more_blocks(gpu, held, less).map(|(block, blocks)| {
                        let most = grouped(block.shared_mem_bytes.into());
                        (format!("{most} bytes of shared memory"), blocks)
                    })
                }
                Limiter::Blocks | Limiter::Warps => None,
            };
            lines.extend(more.map(|(what, blocks)| {
                let blocks = count(blocks as usize, "block");
                format!("with at most {what}, {blocks} would fit")
            }));
            if limiter == Limiter::Blocks {
                lines.push("larger blocks would bring more warps".to_owned());
            }
        }
        if limiters.contains(&Limiter::Warps) {
            let left = gpu.warps - held.warps;
            lines.push(format!(
                "{} left, too few for another block",
                count(left as usize, "warp")
            ));
        }
        let lines = lines.iter().map(|line| look.wrapped(line, 2));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Little's law: what must be in flight at once is latency times throughput.
    fn hiding(&self, latency: &Latency, look: Look) -> String {
        let Report { gpu, held, .. } = self;
        let Latency {
            cycles,
            throughput,
            independent,
        } = latency;
        let needed = cycles * throughput;
        let warps = (needed / f64::from(*independent)).ceil() as u32;
        let enough = if warps <= held.warps {
            format!("the {} that a multiprocessor holds are enough", held.warps)
        } else if warps <= gpu.warps {
            format!(
                "it holds {}: too few, so raise the occupancy, or let a warp have more in flight",
                held.warps
            )
        } else {
            format!(
                "more than the {} of any occupancy: let a warp have {} or more in flight (--independent)",
                gpu.warps,
                (needed / f64::from(gpu.warps)).ceil()
            )
        };
        let law = format!(
            "{} cycles * {} a cycle / {independent} at once: {} hide the latency (Little's law)",
            three(*cycles),
            three(*throughput),
            count(warps as usize, "warp"),
        );
        format!("{}\n{}", look.wrapped(&law, 2), look.wrapped(&enough, 2))
    }

    /// Shows the kernel in blocks of other sizes.
    fn sizes(&self, look: Look) -> String {
        let Report { gpu, needs, .. } = self;
        let mut sizes = SIZES.to_vec();
        sizes.push(needs.threads);
        sizes.sort_unstable();
        sizes.dedup();
        // Only threads differ from the block that was accepted, so this does not fail.
        let with_threads = |threads| {
            Some((
                threads,
                occupancy(gpu, BlockNeeds { threads, ..*needs }).ok()?,
            ))
        };
        let rows: Vec<(u32, Occupancy)> = sizes.into_iter().filter_map(with_threads).collect();
        let tone = |threads: u32| {
            if threads == needs.threads {
                Tone::Good
            } else {
                Tone::Normal
            }
        };
        let table = Table::new(&rows)
            .toned("threads", Align::Right, |(threads, _)| {
                (threads.to_string(), tone(*threads))
            })
            .toned("blocks", Align::Right, |(threads, held)| {
                (held.blocks.to_string(), tone(*threads))
            })
            .toned("warps", Align::Right, |(threads, held)| {
                (held.warps.to_string(), tone(*threads))
            })
            .toned("occupancy", Align::Right, |(threads, held)| {
                (percent(held.share), tone(*threads))
            })
            .toned("limited by", Align::Left, |(threads, held)| {
                let names: Vec<&str> = held.limiters().map(Limiter::name).collect();
                (names.join(", "), tone(*threads))
            });
        let title = "other blocks, with the same registers per thread and shared memory per block:";
        let title = look.wrapped(title, 2);
        format!("{title}\n\n{}", table.render(look, 2))
    }
}

/// The block with fewer and fewer registers per thread.
pub fn fewer_registers(needs: BlockNeeds) -> impl Iterator<Item = BlockNeeds> {
    (1..needs.registers)
        .rev()
        .map(move |registers| BlockNeeds { registers, ..needs })
}

/// The first of these blocks that fits more often than blocks are held, and how often.
pub fn with_more_blocks(
    gpu: &Gpu,
    held: &Occupancy,
    mut needs: impl Iterator<Item = BlockNeeds>,
) -> Option<(BlockNeeds, u32)> {
    needs.find_map(|needs| {
        let blocks = occupancy(gpu, needs).ok()?.blocks;
        (blocks > held.blocks).then_some((needs, blocks))
    })
}

fn percent(share: f64) -> String {
    if share == 0.0 || share == 1.0 {
        return format!("{} %", 100.0 * share);
    }
    format!("{} %", three(100.0 * share))
}
