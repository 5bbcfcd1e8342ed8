// ---- A race: both accesses, and the barriers between them

/** The bytes that both steps touch, and by which lanes. Null where the two do not meet (the fault is of another kind). */
function meeting(first, second) {
  const [later, earlier] = rec.fault.lanes ?? [];
  for (const a of rec.steps[first].m) for (const b of rec.steps[second].m) {
    const key = regionKey(rec.steps[first], a);
    if (!key || key !== regionKey(rec.steps[second], b)) continue;
    for (const mine of lanesFrom(a, earlier)) for (const yours of lanesFrom(b, later)) {
      const byte = Math.max(offsets(a)[mine], offsets(b)[yours]), end = Math.min(offsets(a)[mine] + a.n, offsets(b)[yours] + b.n);
      if (byte < end && (first !== second || mine !== yours)) return { element: { key, byte, bytes: end - byte }, accesses: [a, b], lanes: [mine, yours] };
    }
  }
  return null;
}

function raceSide(i, title, met, side) {
  const strip = strips[stripOf[i]], box = html("div", {}, html("h2", { textContent: title }));
  const add = (text) => box.append(html("div", { textContent: text }));
  add(`${warpName(strip)}${met ? `, lane ${met.lanes[side]} (thread ${strip.w * 32 + met.lanes[side]})` : ""}`);
  if (met) add(`${VERBS[met.accesses[side].k][0]} ${elementName(met.element)}`);
  const unset = rec.steps[i].m.map((access) => unsetWords(i, access, regions.get(regionKey(rec.steps[i], access)) ?? {})).find(Boolean);
  if (unset) box.append(html("div", { textContent: unset, className: "mistake" }));
  box.append(html("button", { type: "button", className: "link", textContent: `${lineName(i)}, step ${i + 1}`, onclick: () => go(i) }));
  return box;
}

function barriersBetween(first, second) {
  const pair = [...new Set([stripOf[first], stripOf[second]])].map((number) => strips[number]), box = html("div", { className: "between" });
  const say = (text, isBad) => box.append(html("div", { textContent: text, className: isBad ? "mistake" : "" }));
  if (first === second) say("Two lanes in the same step", true);
  else if (pair[1] && pair[0].b !== pair[1].b) say("They are in different blocks: no barrier holds between blocks", true);
  else {
    const passed = pair.map((strip) => strip.steps.filter((i) => i > first && i < second && rec.steps[i].y));
    const isNone = passed.every((list) => !list.length);
    if (passed.some((list) => !list.length)) say(isNone ? "No barrier between them" : "No barrier that both reached", true);
    if (!isNone) pair.forEach((strip, n) => say(`warp ${strip.w} reached ${passed[n].map(lineName).join(", ") || "none"}`));
  }
  return box;
}

function makeRace() {
  const { step, other } = rec.fault ?? {};
  if (step == null || other == null) return;
  const met = meeting(other, step), pair = html("div", { className: "pair" });
  pair.append(raceSide(other, "The earlier access", met, 0), barriersBetween(other, step), raceSide(step, "The later access: the fault", met, 1));
  byId("race").append(pair);
  byId("race").hidden = false;
  if (met) view.element = met.element;
}

// ---- Saving a moment: the drawings in one SVG, in the light colours, without need of this page's style

function saveSvg() {
  document.documentElement.classList.add("paper");
  const titles = [`${rec.kernel}: ${byId("sentence").textContent}`, byId("lanes-title").textContent], shapes = [...document.querySelectorAll("#lanes-drawing svg, #memory-drawing svg")];
  const sheet = svg("svg", { xmlns: "http://www.w3.org/2000/svg" }, styled(document.querySelector(".patterns defs")));
  const write = (text, y) => sheet.append(svg("text", { x: 8, y, "font-family": "sans-serif", "font-size": 12 }, text));
  let y = 20, width = 300;
  for (const text of titles) { write(text, y); y += 18; width = Math.max(width, text.length * 6.6 + 16); }
  shapes.forEach((shape, n) => {
    if (n === 1) for (const { textContent: text } of byId("memory-words").children) { write(text, y + 12); y += 18; width = Math.max(width, text.length * 6.6 + 16); }
    const copy = styled(shape);
    copy.setAttribute("x", 8);
    copy.setAttribute("y", y);
    sheet.append(copy);
    y += Number(shape.getAttribute("height")) + 10;
    width = Math.max(width, Number(shape.getAttribute("width")) + 16);
  });
  document.documentElement.classList.remove("paper");
  sheet.prepend(svg("rect", { width: "100%", height: "100%", fill: "#fff" }));
  for (const [name, value] of [["width", width], ["height", y], ["viewBox", `0 0 ${width} ${y}`]]) sheet.setAttribute(name, value);
  const file = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(sheet)], { type: "image/svg+xml" }));
  html("a", { href: file, download: `${rec.kernel}-step-${view.time + 1}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10000);
}

/** A copy that carries its computed style as attributes. */
function styled(original) {
  const copy = original.cloneNode(true), from = [original, ...original.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, n) => {
    const style = getComputedStyle(element);
    if (/^(rect|text|line|path)$/.test(element.tagName)) {
      const names = element.tagName === "text" ? ["fill", "font-family", "font-size", "text-anchor"] : ["fill", "stroke", "stroke-width", "stroke-dasharray"];
      for (const name of names) to[n].setAttribute(name, style.getPropertyValue(name).replace(/"#hatch"/, "#hatch"));
    }
    for (const name of ["class", "tabindex", "role", "aria-label", "data-key"]) to[n].removeAttribute(name);
  });
  return copy;
}

// ---- The page

function show() {
  showCode();
  showTime();
  showLanes();
  showRegisters();
  showMemory();
}

/** Warps of the recorded blocks that have no step. */
function notStarted() {
  const all = Math.ceil(rec.block.reduce((a, b) => a * b, 1) / 32) * rec.blocks.length, missing = all - strips.length;
  return missing > 0 && !rec.is_cut ? ` ${many(missing, "other warp")} had not begun.` : "";
}

function makeHeader() {
  const size = (parts) => parts.join(" × ");
  document.title = `${rec.kernel}: replay`;
  byId("title").textContent = rec.kernel;
  byId("facts").textContent = `Grid ${size(rec.grid)}, block ${size(rec.block)}. Recorded: ${rec.blocks.length > 1 ? "blocks" : "block"} ${rec.blocks.join(", ")}, ${rec.steps.length} steps.` +
    notStarted() + (rec.is_cut ? " The recording is cut: the kernel executed more steps than fit." : "");
  if (!rec.fault) return;
  byId("fault").hidden = false;
  byId("fault-text").textContent = rec.fault.text;
  byId("other-button").hidden = rec.fault.other == null;
  byId("fault-button").hidden = rec.fault.step == null;
}

function measure() {
  for (const id of ["source", "ptx", "time"]) room[id] = byId(id).clientHeight;
  for (const id of ["lanes", "memory"]) room[id] = Math.max(byId(id).clientWidth, 200);
}

/** At the fault, else at the first access of global or shared memory; `#step=57` in the address goes before both. */
function firstMoment() {
  const asked = Number(/^#step=(\d+)$/.exec(location.hash)?.[1]) - 1;
  if (rec.steps[asked]) return asked;
  const access = rec.steps.findIndex((step) => step.m.some(({ s }) => s === "global" || s === "shared"));
  return rec.steps[rec.fault?.step] ? rec.fault.step : Math.max(access, 0);
}

function listen() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", ({ target }) => {
    const { do: move, code, format } = target.closest?.("button")?.dataset ?? {};
    if (move) moves[move]();
    if (code) switchCode(code);
    if (format) { view.format = format; showLanes(); showRegisters(); }
  });
  for (const id of ["source", "ptx"]) byId(id).onclick = onListingClick;
  const redraw = () => { measure(); drawStrips(); show(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
}

async function start() {
  try {
    rec = await readRecording();
  } catch (error) {
    byId("facts").textContent = `The recording cannot be read. ${error.message}`;
    document.querySelectorAll("main, nav, #time").forEach((part) => { part.hidden = true; });
    return;
  }
  indexSteps();
  indexMemory();
  counts = countLines();
  makeHeader();
  makeStrips();
  makeRegisterMenu();
  makeRace();
  listen();
  switchCode(rec.sources.some((source) => source.text != null) ? "source" : "ptx");
  drawStrips();
  go(firstMoment());
}

start();
