// ---- Lanes

/** What a lane does in this step, in the order in which one matters more than the other. */
function laneState(step, strip, lane) {
  if (!has(strip.lanes, lane)) return ["exited", "unused"];
  if (has(step.a, lane)) return ["ran", has(step.x, lane) ? "exits" : has(step.z, lane) ? "ran, waits" : "ran"];
  if (has(step.x, lane)) return ["exited", "exited"];
  if (has(step.l, lane)) return ["masked", "masked"];
  return has(step.z, lane) ? ["waiting", "waits"] : ["elsewhere", "elsewhere"];
}

/** The register that a plain store takes its value from. */
function storedRegister(i) {
  const name = rec.steps[i].m.some(({ k }) => k === "store") && /,\s*(%\w+);/.exec(ptxText(placeOf(i)))?.[1];
  const number = rec.registers.findIndex((register) => register.name === name);
  return number < 0 ? undefined : number;
}

/** The values in the lanes' cells: of the chosen register, or what the step writes, or the address. */
function laneValues(i) {
  const step = rec.steps[i], access = step.m[0], isAuto = view.register === "auto";
  const stored = isAuto && !step.v.length ? storedRegister(i) : undefined, number = isAuto ? step.v[0]?.[0] ?? stored : view.register;
  if (number !== undefined && number !== "address") {
    const register = rec.registers[number], { lanes } = registerNow(strips[view.strip], number, view.time);
    return { title: `${registerName(register)}${isAuto ? `, which this step ${stored === undefined ? "writes" : "stores"}` : ""}`, texts: lanes.map((v) => formatValue(v, register.bits, formatOf(register))), used: formatOf(register) };
  }
  if (!access) return { title: isAuto ? "this step writes no register" : "this step has no address", texts: [] };
  const name = access.f != null ? rec.buffers[access.f].name : `${access.s} memory`, texts = [], used = view.format === "hex" ? "hex" : "integer";
  for (const lane of lanesIn(access.l)) texts[lane] = formatValue(laneValue(access.o, lane), 64, used === "hex" ? "hex" : "signed");
  return { title: `the byte offset in ${name}`, texts, used };
}

/** Text in a box: smaller where it is long, cut where it would be too small to read. */
function fitted(text, x, y, width, largest, attributes = {}) {
  const size = Math.max(Math.min(largest, width / (text.length * 0.61)), 6.5), room = Math.floor(width / (size * 0.6));
  return svg("text", { x, y, "font-size": size.toFixed(1), ...attributes }, text.length > room + 1 ? text.slice(0, room - 1) + "…" : text);
}

function drawLanes(i, width) {
  const step = rec.steps[i], strip = strips[view.strip], { title, texts, used } = laneValues(i);
  const columns = width < 330 ? 4 : 8, w = Math.min(Math.floor((width - 2) / columns), 84), h = 34;
  const drawing = svg("svg", { role: "list", width: w * columns + 2, height: (h * 32) / columns + 2 });
  for (let lane = 0; lane < 32; lane++) {
    const x = (lane % columns) * w + 1, y = Math.floor(lane / columns) * h + 1, [kind, words] = laneState(step, strip, lane), text = texts[lane] ?? "";
    const box = { x: x + 1, y: y + 1, width: w - 3, height: h - 3 };
    const cell = svg("g", { role: "listitem", "aria-label": `Lane ${lane}: ${words}${text && `, ${text}`}` }, svg("rect", { ...box, class: kind }));
    if (kind === "waiting") cell.append(svg("rect", { ...box, class: "hatched" }));
    cell.append(svg("title", {}, `lane ${lane}, thread ${strip.w * 32 + lane}: ${words}${text && `, ${text}`}`));
    cell.append(svg("text", { x: x + 4, y: y + 10, class: "small start" }, String(lane)), fitted(words === "ran" ? "" : words, x + w - 4, y + 10, w - 23, 9, { class: "left" }));
    // The whole value is in the cell's title.
    const short = used === "float" && text.length > 8 && isFinite(text) ? String(Number(Number(text).toPrecision(5))) : text;
    if (text) cell.append(fitted(short, x + w / 2, y + 25, w - 6, 13));
    drawing.append(cell);
  }
  return { drawing, title, used };
}

function showLanes() {
  const i = here(), step = rec.steps[i], strip = strips[view.strip], { drawing, title, used } = drawLanes(i, room.lanes);
  byId("lanes-drawing").replaceChildren(drawing);
  byId("lanes-title").textContent = `Lanes of ${warpName(strip)}: ${title}`;
  document.querySelectorAll("[data-format]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.format === used));
  const states = new Map();
  for (let lane = 0; lane < 32; lane++) addToList(states, laneState(step, strip, lane)[1], lane);
  byId("lanes-note").textContent = [...states].map(([words, lanes]) => `${words}: ${lanes.length === 32 ? "all lanes" : `${lanes.length > 1 ? "lanes" : "lane"} ${ranges(lanes)}`}`).join("; ") + ".";
}

// ---- The menu of registers

const registerOptions = [];

function makeRegisterMenu() {
  const menu = byId("register-menu");
  menu.append(html("option", { value: "auto", textContent: "what the step writes" }), html("option", { value: "address", textContent: "the address of the access" }));
  // Those that hold a variable of the source come first.
  const numbers = [...rec.registers.keys()].sort((a, b) => !rec.registers[a].variable - !rec.registers[b].variable || a - b);
  for (const number of numbers) menu.append(registerOptions[number] = html("option", { value: number }));
  menu.value = "auto";
  menu.onchange = () => { view.register = /^\d/.test(menu.value) ? Number(menu.value) : menu.value; showLanes(); };
}

function showRegisters() {
  const strip = strips[view.strip], width = Math.min(Math.max(...rec.registers.map((register) => registerName(register).length)), 16);
  rec.registers.forEach((register, number) => {
    const now = summary(strip, number, view.time), option = registerOptions[number];
    const text = `${registerName(register).padEnd(width)} ${now ? `${now.text.padEnd(12)} ${lineName(now.last)}` : "not set yet"}`.replace(/ /g, "\u00a0");
    const className = !now ? "unset" : now.last === here() ? "fresh" : "";
    // Touching only what changed keeps a step cheap with hundreds of registers.
    if (option.text !== text) option.textContent = text;
    if (option.className !== className) option.className = className;
  });
}
