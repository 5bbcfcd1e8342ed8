// ---- A buffer as the matrix or cube that it is: its fastest axis to the right, the next down, of a cube the plane of the access

const MAP_HEIGHT = 220;

/** The extents, the bytes of an element and the size of a cell on the screen; null of a line, and of what would be too small to see. */
function mapOf(region) {
  const [nx, ny, nz = 1] = region.axes.map(([, extent]) => extent), size = region.bytes / (nx * ny * nz);
  if (region.axes.length < 2 || !Number.isInteger(size) || size < 1) return null;
  const scale = Math.min(12, (room.memory - 4) / nx, MAP_HEIGHT / ny);
  return scale < 0.75 ? null : { nx, ny, nz, size, scale: scale > 2 ? Math.floor(scale) : scale };
}

/** Where an element is, in the buffer's own axes: "x = 17, y = 3". */
function placeIn(region, byte) {
  const map = mapOf(region);
  if (!map) return "";
  const cell = Math.floor(byte / map.size), at = [cell % map.nx, Math.floor(cell / map.nx) % map.ny, Math.floor(cell / (map.nx * map.ny))];
  return region.axes.map(([name], n) => `${name} = ${at[n]}`).join(", ");
}

/** Cells of a plane as one path: neighbours in a row are one rectangle. */
function pathOf(cells, { nx, scale }) {
  const sorted = [...cells].sort((a, b) => a - b);
  let path = "";
  for (let i = 0, from = 0; i < sorted.length; i++) {
    if (sorted[i + 1] === sorted[i] + 1 && sorted[i + 1] % nx) continue;
    const first = sorted[from], w = (i + 1 - from) * scale;
    path += `M${(first % nx) * scale} ${Math.floor(first / nx) * scale}h${w}v${scale}h${-w}z`;
    from = i + 1;
  }
  return path;
}

/** The cells of the plane that starts at `start`, by the warp that stored there last. */
function storedBy(region, map, start, length) {
  const byWarp = new Map(), grains = Math.max(map.size / region.grain, 1);
  for (const [grain, list] of region.stores) {
    const at = upTo(list, view.time), cell = Math.floor(grain / grains) - start;
    if (at && cell >= 0 && cell < length) addToList(byWarp, rec.steps[list[at - 1]].w % 8, cell);
  }
  return byWarp;
}

/** The cells that share a sector with those of an access. */
function sectorsOf(touched, { size }) {
  const each = Math.max(Math.floor(32 / size), 1), sectors = new Set(touched.map((cell) => Math.floor(cell / each)));
  return [...sectors].flatMap((sector) => [...Array(each).keys()].map((n) => sector * each + n));
}

/** The drawing, or null where the buffer is a line. */
function drawMap(i, access, key) {
  const region = regions.get(key), map = mapOf(region);
  if (!map) return null;
  const { nx, ny, nz, scale } = map, length = nx * ny, touched = [...touchedCells(access, map.size).keys()].filter((cell) => cell >= 0 && cell < length * nz);
  const plane = touched.length ? Math.floor(touched[0] / length) : 0, start = plane * length, width = nx * scale, height = ny * scale;
  const inPlane = (cells) => cells.map((cell) => cell - start).filter((cell) => cell >= 0 && cell < length);
  const names = region.axes.map(([name]) => name);
  const label = `${region.name}: ${nx} × ${ny}${nz > 1 ? ` × ${nz}, plane ${names[2]} = ${plane}` : ""}; ${names[0]} to the right, ${names[1]} down`;
  const drawing = svg("svg", { width: Math.max(width + 2, 320), height: height + 18, role: "img", "aria-label": label, class: "map" }), moved = svg("g", { transform: "translate(1 1)" });
  moved.append(svg("rect", { width, height, class: "frame" }));
  for (const [warp, cells] of storedBy(region, map, start, length)) moved.append(svg("path", { d: pathOf(cells, map), class: `warp${warp}` }));
  if (access.k !== "copy") moved.append(svg("path", { d: pathOf(inPlane(sectorsOf(touched, map)), map), class: "touched" }));
  moved.append(svg("path", { d: pathOf(inPlane(touched), map), class: "lit" }));
  drawing.append(moved, svg("text", { x: 1, y: height + 14, class: "small start" }, label));
  drawing.onclick = (event) => {
    const area = drawing.getBoundingClientRect(), x = Math.floor((event.clientX - area.left - 1) / scale), y = Math.floor((event.clientY - area.top - 1) / scale);
    if (x >= 0 && x < nx && y >= 0 && y < ny) choose({ key, byte: (start + y * nx + x) * map.size, bytes: map.size });
  };
  return drawing;
}
