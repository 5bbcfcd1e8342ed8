// What a tile with a halo loads, computes and keeps, if a launch does several timesteps. A timestep spoils a ring as wide as the stencil.
{
  const { figure, svg, grouped, counted, three, percent } = interactive;
  function compute({ x, y, z, radius, steps, arrays, bytes }) {
    const extents = z > 1 ? [x, y, z] : [x, y];
    // Points that are still right after `step` timesteps.
    const right = (step) => extents.reduce((all, extent) => all * Math.max(extent - 2 * radius * step, 0), 1);
    const loaded = right(0), written = right(steps);
    if (!written) return { error: `After ${counted(steps, "timestep")} no point of this tile is right: each axis needs more than ${2 * radius * steps} points.` };
    let computed = 0;
    for (let step = 1; step <= steps; step++) computed += right(step);
    const fields = Number(arrays), of = Number(bytes);
    // A launch of one timestep leaves the current field where it is, and writes the next one alone.
    const stored = Math.min(fields, steps);
    return {
      loaded, written, computed,
      share: written / loaded,
      // By threads that stop when their point is wrong, and by threads that all go on.
      redundancy: computed / (steps * written), redundancyOfAll: loaded / written,
      sharedBytes: fields * loaded * of,
      bytesPerUpdate: ((fields * loaded + stored * written) * of) / (steps * written),
      bytesWithout: (fields + 1) * of,
    };
  }

  const says = ({ loaded, written, share, bytesPerUpdate, bytesWithout }) =>
    `Loads ${grouped(loaded)} points, writes ${grouped(written)} of them (${percent(share)}): ${three(bytesPerUpdate)} bytes per point and timestep, where a launch per timestep moves at least ${bytesWithout}.`;

  const rows = (it, { steps }) => [
    ["loaded points / written points", three(it.redundancyOfAll)],
    ["points that are computed at least", `${grouped(it.computed)}, ${three(it.redundancy)} times the ${grouped(steps * it.written)} kept`],
    ["if all threads go on to the end", `${grouped(steps * it.loaded)}, ${three(it.redundancyOfAll)} times`],
    ["shared memory, with all fields in it", `${grouped(it.sharedBytes)} bytes${it.sharedBytes > 232448 ? ", more than a block of an H100 has (232,448)" : ""}`],
    ["bytes per point and timestep", three(it.bytesPerUpdate)],
  ];

  /** The tile, a ring per timestep, and the part that is written; beside it the next block's tile. */
  function draw(_, { x, y, z, radius, steps }, width) {
    const halo = radius * steps, wide = 2 * x - 2 * halo, scale = Math.min((width - 4) / wide, 240 / y), parts = [];
    const box = (ring, kind, dash) => svg("rect", { x: 2 + ring * scale, y: 2 + ring * scale, width: (x - 2 * ring) * scale, height: (y - 2 * ring) * scale, class: kind, ...(dash ? { "stroke-dasharray": "5 4" } : {}) });
    parts.push(box(0, "orange edge"));
    // Rings that are finer than lines would be a grey area.
    if (radius * scale >= 4) for (let step = 1; step < steps; step++) parts.push(box(step * radius, "thin"));
    parts.push(box(halo, "green edge"));
    parts.push(svg("rect", { x: 2 + (x - 2 * halo) * scale, y: 2, width: x * scale, height: y * scale, class: "frame", "stroke-dasharray": "5 4" }));
    const legend = y * scale + 24, row = (fill, line, text) => parts.push(svg("rect", { x: 2, y: legend - 11 + 20 * line, width: 12, height: 12, class: fill }), svg("text", { x: 22, y: legend + 20 * line }, text));
    row("green edge", 0, z > 1 ? "written (one plane of the tile)" : "written");
    row("orange edge", 1, width < 480 ? "halo: loaded, then spoiled" : "halo: loaded, and spoiled ring by ring, one per timestep");
    parts.push(svg("line", { x1: 2, x2: 16, y1: legend + 36, y2: legend + 36, class: "frame", "stroke-dasharray": "5 4" }), svg("text", { x: 22, y: legend + 40 }, "what the next block loads"));
    return [legend + 50, ...parts];
  }

  figure("tile", {
    title: "Try it: what a tile costs, and what it saves",
    fields: [
      { name: "x", label: "Tile along x", value: 128, min: 4, max: 256 },
      { name: "y", label: "Tile along y", value: 64, min: 4, max: 256 },
      { name: "z", label: "Tile along z (1: a tile in 2D)", value: 1, min: 1, max: 64 },
      { name: "radius", label: "Radius of the stencil", value: 1, min: 1, max: 8 },
      { name: "steps", label: "Timesteps per launch, T", value: 10, min: 1, max: 32 },
      { name: "arrays", label: "Fields", value: "2", options: [["1", "the current one"], ["2", "the current and the previous one"]] },
      { name: "bytes", label: "Values", value: "4", options: [["4", "f32"], ["8", "f64"]] },
    ],
    compute, says, rows, draw,
  });
}
