// How many blocks a multiprocessor holds, and what limits them: `lab::occupancy` in Rust, which is compared with NVIDIA's calculator.
{
  const { figure, svg, grouped, counted, percent } = interactive;
  // Limits of a multiprocessor, by compute capability. `unit`: shared memory is given in multiples of it; `reserved`: the driver's part.
  const GPUS = {
    t4: { text: "T4, RTX 20", warps: 32, blocks: 16, shared: 65536, perBlock: 65536, reserved: 0, unit: 256 },
    a100: { text: "A100, A30", warps: 64, blocks: 32, shared: 167936, perBlock: 166912, reserved: 1024, unit: 128 },
    "rtx-30": { text: "RTX 30, A10, A40", warps: 48, blocks: 16, shared: 102400, perBlock: 101376, reserved: 1024, unit: 128 },
    "rtx-40": { text: "RTX 40, L4, L40", warps: 48, blocks: 24, shared: 102400, perBlock: 101376, reserved: 1024, unit: 128 },
    h100: { text: "H100, H200", warps: 64, blocks: 32, shared: 233472, perBlock: 232448, reserved: 1024, unit: 128 },
    b200: { text: "B200", warps: 64, blocks: 32, shared: 233472, perBlock: 232448, reserved: 1024, unit: 128 },
    "rtx-50": { text: "RTX 50", warps: 48, blocks: 24, shared: 102400, perBlock: 101376, reserved: 1024, unit: 128 },
  };
  const REGISTERS = 65536, PARTITIONS = 4, REGISTER_UNIT = 256;
  const up = (number, unit) => Math.ceil(number / unit) * unit;

  function compute({ gpu, threads, registers, shared }) {
    const { warps: most, blocks, shared: all, perBlock, reserved, unit } = GPUS[gpu];
    if (shared > perBlock) return { error: `A block of this GPU has at most ${grouped(perBlock)} bytes of shared memory.` };
    const perWarp = up(32 * registers, REGISTER_UNIT), warpsPerBlock = Math.ceil(threads / 32), sharedPerBlock = up(shared + reserved, unit);
    // Registers belong to a partition, of which each has a quarter, and a warp runs on one.
    const fits = perWarp * up(warpsPerBlock, PARTITIONS) <= REGISTERS;
    const byRegisters = fits ? Math.floor((Math.floor(REGISTERS / PARTITIONS / perWarp) * PARTITIONS) / warpsPerBlock) : 0;
    const limits = [
      { name: "warps", ofBlock: warpsPerBlock, ofAll: most, blocks: Math.floor(most / warpsPerBlock) },
      { name: "blocks", ofBlock: 1, ofAll: blocks, blocks },
      { name: "registers", ofBlock: perWarp * warpsPerBlock, ofAll: REGISTERS, blocks: byRegisters },
      { name: "shared memory", ofBlock: sharedPerBlock, ofAll: all, blocks: sharedPerBlock ? Math.floor(all / sharedPerBlock) : Infinity },
    ];
    const held = Math.min(...limits.map((limit) => limit.blocks)), warps = held * warpsPerBlock;
    return { limits, blocks: held, warps, most, share: warps / most, binding: limits.filter((limit) => limit.blocks === held).map(({ name }) => name) };
  }

  function says({ blocks, warps, most, share, binding }) {
    const limit = `Limited by ${binding.join(" and ")}.`;
    if (!blocks) return `Not one block fits: ${limit.toLowerCase()}`;
    return `${counted(blocks, "block")}, ${warps} of ${most} warps: occupancy ${percent(share)}. ${limit}`;
  }

  const rows = ({ limits }) => [
    ["", "per block", "in all", "blocks"],
    ...limits.map(({ name, ofBlock, ofAll, blocks }) => [name, grouped(ofBlock), grouped(ofAll), blocks === Infinity ? "any" : String(blocks)]),
  ];

  const COLOURS = ["blue", "orange", "green", "violet"];

  /** The places for warps, a colour per block, and beside or below them how full each resource is. */
  function draw({ limits, blocks, warps, most, binding }, _, width) {
    const parts = [], isWide = width >= 560, cell = 26, perBlock = limits[0].ofBlock;
    for (let warp = 0; warp < most; warp++) {
      const colour = warp < warps ? COLOURS[Math.floor(warp / perBlock) % COLOURS.length] : "plain";
      parts.push(svg("rect", { x: (warp % 8) * cell + 1, y: Math.floor(warp / 8) * cell + 1, width: cell - 3, height: cell - 3, class: `${colour} edge` }));
    }
    const tall = Math.ceil(most / 8) * cell;
    parts.push(svg("text", { x: 1, y: tall + 14, class: "soft" }, "a square is a warp, a colour a block"));
    const [left, top] = isWide ? [8 * cell + 30, 0] : [1, tall + 30], room = width - left - 2;
    limits.forEach(({ name, ofBlock, ofAll }, row) => {
      const y = top + row * 52, share = ofBlock / ofAll, used = Math.min(blocks * share, 1), binds = binding.includes(name);
      parts.push(svg("text", { x: left, y: y + 14, class: binds ? "strong" : "" }, `${name}: ${percent(used)} used${binds ? ", the limit" : ""}`));
      parts.push(svg("rect", { x: left, y: y + 20, width: room, height: 18, class: "plain edge" }));
      for (let block = 0; block < blocks; block++) parts.push(svg("rect", { x: left + block * share * room, y: y + 20, width: Math.max(share * room, 0), height: 18, class: `${COLOURS[block % COLOURS.length]} edge` }));
      if (!blocks && binds) parts.push(svg("rect", { x: left, y: y + 20, width: room, height: 18, class: "red edge" }));
    });
    return [Math.max(tall + 20, top + 4 * 52), ...parts];
  }

  figure("occupancy", {
    title: "Try it: how many blocks does a multiprocessor hold?",
    fields: [
      { name: "gpu", label: "GPU", value: "h100", options: Object.entries(GPUS).map(([key, { text }]) => [key, text]) },
      { name: "threads", label: "Threads per block", value: 256, min: 1, max: 1024 },
      { name: "registers", label: "Registers per thread", value: 40, min: 1, max: 255 },
      { name: "shared", label: "Shared memory per block, bytes", value: 0, min: 0, max: 232448, step: 256 },
    ],
    compute, says, rows, draw,
  });
}
