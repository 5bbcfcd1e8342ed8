// A roofline: the least time by bytes and by operations, and the labs' kernels as they were measured (measured.js).
{
  const { figure, svg, three, percent, measured } = interactive;
  // A fused multiply-add is two operations. Results that equal a CPU's bit for bit are computed without it, by half as many.
  const KINDS = {
    fp32: { text: "f32, fused", limit: "fp32", of: 1 }, "fp32 unfused": { text: "f32, not fused", limit: "fp32", of: 2 },
    fp64: { text: "f64, fused", limit: "fp64", of: 1 }, "fp64 unfused": { text: "f64, not fused", limit: "fp64", of: 2 },
  };

  function compute({ card, kind, operations, bytes, lab }) {
    const { name, limits, labs } = measured[card], peak = limits[KINDS[kind].limit] / KINDS[kind].of, intensity = operations / bytes;
    const byBytes = bytes / limits.copy, byOperations = operations / peak, seconds = Math.max(byBytes, byOperations);
    return { name, limits, peak, intensity, seconds, by: byBytes >= byOperations ? "memory" : KINDS[kind].limit, rate: operations / seconds, ridge: peak / limits.copy, case: labs[lab]?.case, kernels: labs[lab]?.kernels ?? [] };
  }

  const tera = (rate) => `${three(rate / 1e12)} TFLOP/s`;

  const says = ({ intensity, by, rate, seconds, ridge }, { kind }) =>
    `${three(intensity)} operations per byte: ${by === "memory" ? "memory binds" : "arithmetic binds"}, the ridge point is at ${three(ridge)}. At most ${tera(rate)} (${KINDS[kind].text}), or ${three(1e-9 / seconds)} billion points per second.`;

  const rows = ({ kernels }) => [
    ...(kernels.length ? [["", "kernel", "op/B", "TFLOP/s", "of limit"]] : []),
    ...kernels.map(([name, intensity, rate, share], at) => [String(at + 1), name, three(intensity), three(rate / 1e12), percent(share)]),
  ];

  /** Both axes logarithmic, a grid line per power of four along x and of ten along y. */
  function draw({ limits, peak, intensity, rate, kernels }, { kind }, width) {
    const [left, right, top, bottom] = [42, 16, 18, 40], height = 300, [x0, x1] = [-5, 7], [y0, y1] = [-2, 2], parts = [];
    const x = (value) => left + ((Math.log2(value) - x0) / (x1 - x0)) * (width - left - right), y = (value) => top + ((y1 - Math.log10(value / 1e12)) / (y1 - y0)) * (height - top - bottom);
    for (let power = x0; power <= x1; power += 2) {
      const at = 2 ** power;
      parts.push(svg("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, class: "grid" }), svg("text", { x: x(at), y: height - bottom + 16, "text-anchor": "middle" }, power < 0 ? `1/${2 ** -power}` : String(at)));
    }
    for (let power = y0; power <= y1; power++) {
      const at = 10 ** power * 1e12;
      parts.push(svg("line", { x1: left, x2: width - right, y1: y(at), y2: y(at), class: "grid" }), svg("text", { x: left - 5, y: y(at) + 4, "text-anchor": "end" }, String(10 ** power)));
    }
    const roof = (of, kind) => svg("polyline", { points: [[2 ** x0, 2 ** x0 * limits.copy], [of / limits.copy, of], [2 ** x1, of]].map(([a, b]) => `${x(a)},${y(b)}`).join(" "), class: kind });
    const other = KINDS[kind].limit === "fp32" ? "fp64" : "fp32";
    parts.push(roof(limits[other], "thin"), roof(peak, "line"));
    parts.push(svg("text", { x: width - right, y: y(peak) - 6, "text-anchor": "end" }, `${KINDS[kind].text}: ${three(peak / 1e12)}`));
    parts.push(svg("text", { x: x(1 / 8) + 10, y: y(limits.copy / 8) + 30 }, `memory: ${three(limits.copy / 1e12)} TB/s`));
    parts.push(svg("text", { x: 2, y: 11 }, "TFLOP/s"), svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, width < 480 ? "operations / byte (op/B)" : "operations per byte of device memory (op/B)"));
    // Numbers of kernels that lie on each other would hide each other: the table has all of them.
    let last = null;
    kernels.map((kernel, at) => [...kernel, at + 1]).sort((a, b) => a[1] - b[1] || a[2] - b[2]).forEach(([, at, of, , number]) => {
      const place = { cx: x(at), cy: y(of) };
      parts.push(svg("circle", { ...place, r: 5, class: "orange edge" }));
      if (last && Math.hypot(last.cx - place.cx, last.cy - place.cy) < 13) return;
      last = place;
      parts.push(svg("text", { x: place.cx + 8, y: place.cy + 12 }, String(number)));
    });
    parts.push(svg("circle", { cx: x(intensity), cy: y(rate), r: 7, class: "red edge" }));
    parts.push(svg("text", { x: x(intensity) - 11, y: y(rate) - 7, "text-anchor": "end", class: "strong" }, "yours"));
    return [height, ...parts];
  }

  figure("roofline", {
    title: "Try it: which bound binds your kernel?",
    fields: [
      { name: "card", label: "Card", value: "h100", options: Object.entries(measured).map(([key, { name }]) => [key, name]) },
      { name: "operations", label: "Operations per point", value: 7, min: 1, max: 400 },
      { name: "bytes", label: "Bytes per point", value: 12, min: 1, max: 200 },
      { name: "kind", label: "Operations", value: "fp32", options: Object.entries(KINDS).map(([key, { text }]) => [key, text]) },
      { name: "lab", label: "Measured kernels", value: "wave2d", options: [...Object.entries(measured.h100.labs).map(([lab, it]) => [lab, `${lab}, ${it.case}`]), ["", "none"]] },
    ],
    compute, says, rows, texts: 2, draw,
  });
}
