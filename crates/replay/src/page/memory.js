// ---- Memory: lines of 128 bytes, shared memory by bank and global memory by sector

/** Which lanes touch each cell of `size` bytes. */
function touchedCells(access, size) {
  const cells = new Map(), at = offsets(access);
  for (const lane of lanesIn(access.l)) {
    for (let cell = Math.floor(at[lane] / size); cell * size < at[lane] + access.n; cell++) addToList(cells, cell, lane);
  }
  return cells;
}

function bankWords(step, access) {
  const words = [...touchedCells(access, 4).keys()], banks = new Map();
  words.forEach((word) => addToList(banks, word % 32, word));
  const worst = Math.max(...[...banks.values()].map((list) => list.length)), where = [...banks.keys()].filter((bank) => banks.get(bank).length === worst);
  const passes = many(access.c, "pass", "passes"), count = lanesIn(access.l).length;
  if (access.k === "atomic" && worst === 1 && access.c > 1) return `${passes}: ${words.length < count ? "lanes change the same word, one after the other" : "no bank conflict"}.`;
  if (access.c <= Math.ceil(words.length / 32)) return `${passes}: no bank conflict.`;
  const others = where.length > 1 ? `, and as many in ${many(where.length - 1, "other bank")}` : "";
  const meeting = access.n <= 4 ? `${many(worst, "lane")} meet` : `${many(worst, "word")} meet`;
  return `${passes}: ${meeting} in bank ${where.sort((a, b) => a - b)[0]}${others}.`;
}

function sectorWords(step, access) {
  const apart = Array.isArray(access.o) && access.o.length === 2 ? Number(BigInt.asIntN(64, fromHex(access.o[1]))) : 0;
  const why = Math.abs(apart) > access.n ? ` Neighbouring lanes are ${Math.abs(apart)} bytes apart.` : "";
  const grain = Math.min(access.n, 4), bytes = touchedCells(access, grain).size * grain, least = Math.ceil(bytes / 32);
  return `${many(access.c, "sector")} for ${bytes} bytes; ${access.c > least ? `${least} would do.${why}` : "it takes no fewer."}`;
}

function strayWords(step, access, region) {
  const at = offsets(access), outside = lanesIn(access.l).filter((lane) => !(at[lane] >= 0 && at[lane] + access.n <= region.bytes));
  return outside.length ? `Outside the ${region.bytes} bytes of ${region.name}: ${outside.length > 1 ? "lanes" : "lane"} ${ranges(outside)}.` : "";
}

/** Shared memory starts without values: a load of a word that nobody has stored is a mistake worth a sentence. */
function unsetWords(i, access, region) {
  if (!region.isShared || access.k !== "load") return "";
  const at = offsets(access), early = lanesIn(access.l).filter((lane) => lastOf(region.stores, region, at[lane], access.n, i - 1) < 0);
  return early.length ? `Nothing has stored yet what ${early.length > 1 ? "lanes" : "lane"} ${ranges(early)} ${early.length > 1 ? "load" : "loads"}.` : "";
}

const VERBS = { load: ["loads", "load"], store: ["stores", "store"], atomic: ["changes atomically", "change atomically"], copy: ["begins to copy", "begin to copy"], arrival: ["has copied", "have copied"] };

/** The sentences about an access; those that tell of a mistake are marked. */
function accessWords(i, access) {
  const step = rec.steps[i], region = regions.get(regionKey(step, access)), count = lanesIn(access.l).length;
  if (!count) return [{ text: "No lane takes part: the guard is false in all of them." }];
  const name = region ? region.name : `${access.s} memory${access.s === "global" ? ", outside every known buffer" : ""}`;
  const head = `${many(count, "lane")} ${VERBS[access.k][count > 1 ? 1 : 0]} ${many(access.n, "byte")}${count > 1 ? " each" : ""}: ${name}.`;
  if (!region) return [{ text: head, isBad: access.s === "global" }];
  const cost = isCopy(access) || !touchedCells(access, access.n).size ? "" : region.isShared ? bankWords(step, access) : sectorWords(step, access);
  const mistakes = [strayWords(step, access, region), unsetWords(i, access, region)].filter(Boolean);
  return [{ text: `${head} ${cost}` }, ...mistakes.map((text) => ({ text, isBad: true }))];
}

/** The lines to draw: all of a small region, else the touched ones with a neighbour where there is room. */
function linesToDraw(region, cells, size, element) {
  const total = Math.ceil(region.bytes / LINE_BYTES), wanted = new Set([...cells.keys()].map((cell) => Math.floor((cell * size) / LINE_BYTES)).filter((line) => line >= 0 && line <= total));
  if (total <= 8) for (let line = 0; line < total; line++) wanted.add(line);
  if (!wanted.size) wanted.add(element?.key === region.key ? Math.floor(element.byte / LINE_BYTES) : 0);
  if (wanted.size <= 3) for (const line of [...wanted]) for (const near of [line - 1, line + 1]) if (near >= 0 && near < total) wanted.add(near);
  return [...wanted].sort((a, b) => a - b).slice(0, 34);
}

function drawMemory(i, access, key) {
  const step = rec.steps[i], region = regions.get(key), size = region.isShared ? 4 : Math.min(access.n, 16), columns = LINE_BYTES / size;
  const cells = access ? touchedCells(access, size) : new Map(), element = chosenElement();
  const lines = linesToDraw(region, cells, size, element), isLong = lines.length > 10;
  const left = 46, w = Math.max(Math.floor((room.memory - left - 4) / columns), size < 4 ? 4 : 17), h = isLong ? 11 : 18, gap = 10;
  const drawing = svg("svg", { width: left + columns * w + 4, role: "group", "aria-label": `Lines of 128 bytes of ${region.name}` });
  let y = region.isShared ? 12 : 3;
  if (region.isShared) drawBanks(drawing, left, w);
  let before = -1;
  const places = [];
  for (const line of lines) {
    if (line !== before + 1) { drawing.append(svg("text", { x: left - 4, y: y + 8, class: "small left" }, "⋮")); y += gap; }
    drawLine(drawing, { region, size, columns, cells, element, left, w, h, y, line });
    places.push({ line, y });
    y += h + (region.isShared ? 0 : isLong ? 1 : 3);
    before = line;
  }
  if (before < Math.ceil(region.bytes / LINE_BYTES) - 1) { drawing.append(svg("text", { x: left - 4, y: y + 8, class: "small left" }, "⋮")); y += gap; }
  y = drawLegend(drawing, region, left, y + 3);
  drawing.setAttribute("height", y);
  drawing.onclick = (event) => {
    const area = drawing.getBoundingClientRect(), column = Math.floor((event.clientX - area.left - left) / w), row = places.find((place) => event.clientY - area.top >= place.y && event.clientY - area.top < place.y + h);
    if (row && column >= 0 && column < columns) choose({ key, byte: row.line * LINE_BYTES + column * size, bytes: size });
  };
  return drawing;
}

function drawBanks(drawing, left, w) {
  drawing.append(svg("text", { x: left - 4, y: 9, class: "small left" }, "bank"));
  for (let bank = 0; bank < 32; bank++) drawing.append(svg("text", { x: left + (bank + 0.5) * w, y: 9, class: "small" }, String(bank)));
}

/** What a cell looks like: the colour of the warp that stored last, or hatched where no step stores (but some do elsewhere). */
function cellLook({ region, size }, cell) {
  const byte = cell * size, last = lastOf(region.stores, region, byte, size, view.time);
  if (byte + size > region.bytes) return "outside";
  if (lastOf(region.copies, region, byte, size, view.time) > last) return "underway";
  if (last >= 0) return `warp${rec.steps[last].w % 8}`;
  return !region.isShared && region.stores.size && lastOf(region.stores, region, byte, size, Infinity) < 0 ? "hatched" : "";
}

/** A line: equal neighbours as one rectangle, then the grid and the sectors, and on top the cells of this access. */
function drawLine(drawing, at) {
  const { region, size, columns, cells, element, left, w, h, y, line } = at, first = line * columns, touched = [];
  const span = (column, count, name) => svg("rect", { x: left + column * w, y, width: count * w, height: h, class: name });
  drawing.append(svg("text", { x: left - 4, y: y + h / 2 + 3, class: "small left" }, String(first)), span(0, columns, ""));
  const perSector = 32 / size, sectors = region.isShared ? [] : [0, 1, 2, 3].map((n) => n * perSector);
  const isTouched = (column) => [...Array(perSector).keys()].some((n) => cells.has(first + column + n));
  for (const column of sectors) if (isTouched(column)) drawing.append(span(column, perSector, "touched"));
  for (let column = 0, from = 0; column < columns; column++) {
    const look = cellLook(at, first + column), lanes = cells.get(first + column);
    if (lanes) touched.push(drawTouched(at, first + column, left + column * w, lanes, look));
    if (column + 1 < columns && cellLook(at, first + column + 1) === look) continue;
    if (look) drawing.append(span(from, column + 1 - from, look));
    from = column + 1;
  }
  drawing.append(svg("path", { class: "grid", d: [...Array(columns - 1).keys()].map((n) => `M${left + (n + 1) * w} ${y}v${h}`).join("") }));
  drawing.append(...sectors.map((column) => span(column, perSector, "sector")), ...touched);
  const chosen = element && element.key === region.key ? Math.floor(element.byte / size) - first : -1;
  if (chosen >= 0 && chosen < columns) drawing.append(svg("rect", { x: left + chosen * w, y, width: w, height: h, class: "chosen" }));
}

/** A cell of this access: outlined, with the numbers of its lanes, and in reach of the keyboard. */
function drawTouched({ region, size, w, h, y }, cell, x, lanes, look) {
  const element = { key: region.key, byte: cell * size, bytes: size }, label = `${elementName(element)}: ${lanes.length > 1 ? "lanes" : "lane"} ${ranges(lanes)}`;
  const group = svg("g", { class: "cell", tabindex: 0, role: "button", "aria-label": label, "data-key": `${region.key} ${cell}` });
  group.append(svg("title", {}, label), svg("rect", { x, y, width: w, height: h, class: look === "outside" ? "bad hatched" : `${look} ${w < 8 ? "narrow " : ""}hit` }));
  const numbers = ranges(lanes);
  if (w >= 12) group.append(fitted(numbers.length > 5 ? `${lanes.length}×` : numbers, x + w / 2, y + h / 2 + 4, w - 2, h - 3 < 11 ? h - 3 : 11));
  group.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(element); } };
  return group;
}

function drawLegend(drawing, region, x, y) {
  const warps = new Set();
  for (const list of region.stores.values()) { const at = upTo(list, view.time); if (at) warps.add(rec.steps[list[at - 1]].w); }
  const isUnderway = [...region.copies.values()].some((list) => upTo(list, view.time));
  if (isUnderway) drawing.append(svg("rect", { x, y: y + 1, width: 12, height: 11, class: "underway" }), svg("text", { x: x + 16, y: y + 10, class: "small start" }, "an asynchronous copy is to store there"));
  if (isUnderway) y += 16;
  if (!region.isShared) {
    drawing.append(svg("rect", { x, y: y + 1, width: 12, height: 11, class: "hit" }), svg("text", { x: x + 16, y: y + 10, class: "small start" }, "an element of this access"));
    drawing.append(svg("rect", { x: x + 170, y: y + 1, width: 12, height: 11, class: "touched" }), svg("text", { x: x + 186, y: y + 10, class: "small start" }, "the rest of its sector of 32 bytes"));
    y += 16;
  }
  if (!warps.size) return y + 2;
  drawing.append(svg("text", { x, y: y + 10, class: "small start" }, "stored last by warp"));
  x += 110;
  for (const warp of [...warps].sort((a, b) => a - b).slice(0, 12)) {
    drawing.append(svg("rect", { x, y: y + 1, width: 12, height: 11, class: `warp${warp % 8}` }), svg("text", { x: x + 16, y: y + 10, class: "small start" }, String(warp)));
    x += 36;
  }
  if (!region.isShared) drawing.append(svg("text", { x: x + 6, y: y + 10, class: "small start" }, "hatched: never stored in this recording"));
  return y + 16;
}

function choose(element) {
  view.element = element;
  showMemory();
}

function showMemory() {
  const i = here(), step = rec.steps[i], focused = document.activeElement?.dataset?.key;
  const words = step.m.length ? step.m.flatMap((access) => accessWords(i, access)) : [{ text: "This instruction does not touch memory." }];
  const drawn = step.m.filter((access) => regionKey(step, access)).slice(0, 3).map((access) => [access, regionKey(step, access)]);
  const drawings = drawn.flatMap(([access, key]) => [drawMap(i, access, key), drawMemory(i, access, key)]).filter(Boolean);
  // Shared memory stays in sight between its accesses.
  if (!drawings.length && rec.shared_bytes) {
    words.push({ text: `Shared memory of ${blockName(step.b)} at this time:` });
    drawings.push(drawMemory(i, null, `shared ${step.b}`));
  }
  byId("memory-words").replaceChildren(...words.map(({ text, isBad }) => html("div", { textContent: text, className: isBad ? "mistake" : "" })));
  byId("memory-drawing").replaceChildren(...drawings);
  if (focused) byId("memory-drawing").querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  showElement();
}

function showElement() {
  const element = chosenElement(), box = byId("element-words");
  if (!element) return void (box.textContent = "Click on an element to follow its accesses with n and N.");
  const region = regions.get(element.key), last = lastOf(region.stores, region, element.byte, element.bytes, view.time);
  const use = last < 0 ? "nothing has stored there so far." : `stored last in step ${last + 1} by ${warpName(strips[stripOf[last]])} at ${lineName(last)}.`;
  box.textContent = `${view.element ? "Followed" : "First of the access"}: ${elementName(element)}; ${use}`;
  document.querySelectorAll('[data-do^="access"]').forEach((button) => { button.title = `${button.dataset.do === "access" ? "n" : "N"}: ${elementName(element)}`; });
}
