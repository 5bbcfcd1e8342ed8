// The sectors and lines that one load of a warp touches: what the emulated device counts.
{
  const { figure, svg, grouped, counted, three, percent } = interactive;
  const LANES = 32, SECTOR = 32, LINE = 128;

  function compute({ size, stride, offset }) {
    const bytes = Number(size), addresses = Array.from({ length: LANES }, (_, lane) => (offset + lane * stride) * bytes);
    const distinct = (unit) => [...new Set(addresses.map((address) => Math.floor(address / unit)))];
    const sectors = distinct(SECTOR).length;
    // What the same bytes would take side by side. Lanes that share bytes are not worse than that.
    const ideal = Math.min((LANES * bytes) / SECTOR, sectors);
    return { bytes, addresses, sectors, lines: distinct(LINE), ideal, efficiency: ideal / sectors };
  }

  const says = ({ sectors, lines, bytes, efficiency }, { stride }) =>
    stride === 0
      ? `All 32 lanes load one element: ${counted(sectors, "sector")} of ${counted(lines.length, "line")}, and each lane gets the value.`
      : `${counted(sectors, "sector")} in ${counted(lines.length, "line")}: ${grouped(sectors * SECTOR)} bytes move for ${grouped(LANES * bytes)} that are wanted, efficiency ${percent(efficiency)}.`;

  const rows = ({ bytes, sectors, ideal, lines, addresses }) => [
    ["bytes that lanes want", grouped(LANES * bytes)],
    ["sectors of 32 bytes", grouped(sectors)],
    ["sectors for the same bytes side by side", three(ideal)],
    ["lines of 128 bytes", grouped(lines.length)],
    ["bytes from the first lane's element to the last one's end", grouped(addresses.at(-1) - addresses[0] + bytes)],
  ];

  /** A column per line that is touched, a byte per pixel downwards, in four sectors. */
  function draw({ bytes, addresses, lines }, { stride }, width) {
    const parts = [], top = 20, column = Math.min(Math.floor((width - 2) / lines.length), 72), gap = column > 12 ? 3 : 1;
    parts.push(svg("text", { x: 1, y: 12, class: "soft" }, width < 480 ? "a column: a line of 4 sectors" : "a column is a line of 128 bytes, with its 4 sectors one below the other"));
    lines.forEach((line, at) => {
      const x = at * column + 1, inLine = addresses.filter((address) => Math.floor(address / LINE) === line);
      for (let sector = 0; sector < LINE / SECTOR; sector++) {
        const isTouched = inLine.some((address) => Math.floor((address % LINE) / SECTOR) === sector);
        parts.push(svg("rect", { x, y: top + sector * SECTOR, width: column - gap, height: SECTOR, class: isTouched ? "red" : "plain" }));
      }
      for (const address of new Set(inLine)) parts.push(svg("rect", { x, y: top + (address % LINE), width: column - gap, height: bytes, class: "green" }));
      for (let sector = 0; sector < LINE / SECTOR; sector++) parts.push(svg("rect", { x, y: top + sector * SECTOR, width: column - gap, height: SECTOR, class: "frame" }));
    });
    const legend = top + LINE + 20, entry = (line, fill, text) => parts.push(svg("rect", { x: 1, y: legend - 11 + 20 * line, width: 12, height: 12, class: `${fill} edge` }), svg("text", { x: 20, y: legend + 20 * line }, text));
    entry(0, "green", "wanted by a lane");
    entry(1, "red", "moves with it, for nothing");
    const isFar = stride * bytes > LINE;
    if (isFar) parts.push(svg("text", { x: 1, y: legend + 40, class: "soft" }, "Lines in between are left out."));
    return [legend + (isFar ? 50 : 30), ...parts];
  }

  figure("coalescing", {
    title: "Try it: lane i loads element offset + i * stride",
    fields: [
      { name: "stride", label: "Stride, elements", value: 2, min: 0, max: 64 },
      { name: "offset", label: "Offset, elements", value: 0, min: 0, max: 64 },
      { name: "size", label: "Element", value: "4", options: [["1", "u8, 1 byte"], ["2", "f16, 2 bytes"], ["4", "f32, 4 bytes"], ["8", "f64, 8 bytes"], ["16", "[f32; 4], 16 bytes"]] },
    ],
    compute, says, rows, draw,
  });
}
