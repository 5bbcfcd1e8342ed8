"use strict";
// Replays a recorded kernel step by step. One thing changes, the moment (`view`); show() draws everything from it.
// Text of the recording goes into the page by textContent alone, never as HTML.

const ALL = 0xffffffff, ROW = 20 /* height of a strip, as in the style */, LINE = 18 /* height of a line of text */, LINE_BYTES = 128;
const byId = (id) => document.getElementById(id);
let rec, strips, stripOf, regions, counts;
const room = {}; // Sizes of the boxes, measured once: to ask for one in every step would lay the page out anew.
const view = { time: 0, strip: 0, frame: null, register: "auto", format: null, code: "source", element: null };

// ---- Small helpers

const has = (mask, lane) => (mask >>> lane) & 1;
const lanesIn = (mask) => [...Array(32).keys()].filter((lane) => has(mask, lane));
const many = (count, one, more = one + "s") => `${count} ${count === 1 ? one : more}`;
const fileName = (path) => path.split("/").pop();

/** How many entries of an ascending list are at most `limit`. */
function upTo(list, limit) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= limit) low = middle + 1; else high = middle;
  }
  return low;
}

/** Lane numbers as people write them: "0–3, 7" or "0, 2 … 30". */
function ranges(lanes) {
  const parts = [], pace = lanes[1] - lanes[0];
  if (lanes.length > 3 && pace > 1 && lanes.every((lane, i) => lane === lanes[0] + i * pace)) return `${lanes[0]}, ${lanes[1]} … ${lanes.at(-1)}`;
  for (let i = 0, from = 0; i < lanes.length; i++) {
    if (lanes[i + 1] === lanes[i] + 1) continue;
    parts.push(i === from ? `${lanes[i]}` : `${lanes[from]}–${lanes[i]}`);
    from = i + 1;
  }
  return parts.join(", ");
}

function html(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

// ---- The recording: base64 of raw-deflated JSON

async function readRecording() {
  const text = byId("recording").textContent.trim();
  if (!text || text.startsWith("<")) throw new Error("This page holds no recording.");
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const recording = await new Response(stream).json();
  if (recording.version !== 1) throw new Error(`This page reads version 1 of the format; the recording has version ${recording.version}.`);
  if (!recording.steps.length) throw new Error("The recording has no steps.");
  for (const step of recording.steps) { step.v ??= []; step.m ??= []; for (const access of step.m) access.l ??= step.a; }
  // A fault whose step did not fit into the recording is told, but there is no place to go to.
  const { fault, steps } = recording;
  if (fault && !steps[fault.step]) fault.step = null;
  if (fault && !steps[fault.other]) fault.other = null;
  return recording;
}

/** A strip is a warp of a recorded block: its steps, and for each register the steps that wrote it. */
function indexSteps() {
  strips = [];
  stripOf = new Uint16Array(rec.steps.length);
  const known = new Map(), threads = rec.block.reduce((a, b) => a * b, 1);
  rec.steps.forEach((step, i) => {
    const key = step.b * 4096 + step.w;
    if (!known.has(key)) {
      const lanes = threads - step.w * 32;
      known.set(key, { b: step.b, w: step.w, lanes: lanes >= 32 ? ALL : (1 << lanes) - 1, steps: [], writes: new Map() });
    }
    const strip = known.get(key);
    strip.steps.push(i);
    for (const [register] of step.v) {
      if (!strip.writes.has(register)) strip.writes.set(register, []);
      strip.writes.get(register).push(i);
    }
  });
  strips = [...known.values()].sort((a, b) => a.b - b.b || a.w - b.w);
  strips.forEach((strip, number) => strip.steps.forEach((i) => { stripOf[i] = number; }));
}

const blockName = (b) => `block ${rec.blocks[b]}`;
const warpName = (strip) => `${blockName(strip.b)}, warp ${strip.w}`;
const ptxText = (place) => (rec.ptx.lines[place.ptx - rec.ptx.first] ?? "").trim();
const placeOf = (i) => rec.places[rec.steps[i].p] ?? { ptx: -1, at: [] };

/** The frame whose line a reader wants: the innermost one whose file is at hand. */
function frameOf(i) {
  const at = placeOf(i).at, known = at.findIndex((frame) => rec.sources[frame.source]?.text != null);
  return at.length ? Math.max(known, 0) : null;
}

const lineOf = (frame) => `${fileName(rec.sources[frame.source].path)}:${frame.line}`;

function lineName(i) {
  const frame = placeOf(i).at[frameOf(i)];
  return frame ? lineOf(frame) : `PTX line ${placeOf(i).ptx}`;
}

/** The step at which the viewed warp stands at the current time. */
function here() {
  const { steps } = strips[view.strip];
  return steps[Math.max(upTo(steps, view.time) - 1, 0)];
}

// ---- Values: one for all lanes, an arithmetic row, or 32 of them

const fromHex = (text) => BigInt("0x" + (text || "0"));

function laneValue(values, lane) {
  if (typeof values === "string") return fromHex(values);
  if (values.length === 2) return BigInt.asUintN(64, fromHex(values[0]) + fromHex(values[1]) * BigInt(lane));
  return fromHex(values[lane]);
}

/** Whether it is one end of an asynchronous copy. */
const isCopy = (access) => access.k === "copy" || access.k === "arrival";

/** The offsets of an access as plain numbers, below zero before its buffer; NaN, which touches nothing, where it went far astray. */
const near = (offset) => (Number.isSafeInteger(Number(offset)) ? Number(offset) : NaN);

function offsets(access) {
  const o = access.o;
  if (!access.offsets) {
    const isSmall = Array.isArray(o) && o.length === 2 && o[0].length < 12 && o[1].length < 11;
    const first = isSmall && parseInt(o[0], 16), step = isSmall && parseInt(o[1], 16);
    access.offsets = Array.from({ length: 32 }, (_, lane) => (isSmall ? first + step * lane : near(BigInt.asIntN(64, laneValue(o, lane)))));
  }
  return access.offsets;
}

function formatFloat(value, bits) {
  const box = new DataView(new ArrayBuffer(8));
  box.setBigUint64(0, value << BigInt(64 - bits));
  if (bits === 64) return String(box.getFloat64(0));
  const single = box.getFloat32(0);
  // The shortest text that gives the same f32 again.
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(single.toPrecision(digits));
    if (Math.fround(short) === single) return String(short);
  }
  return String(single);
}

function formatValue(value, bits, format) {
  if (format === "hex" && bits > 1) return "0x" + BigInt.asUintN(bits, value).toString(16);
  if (format === "signed" && bits > 1) return String(BigInt.asIntN(bits, value));
  if (format === "float" && (bits === 32 || bits === 64)) return formatFloat(BigInt.asUintN(bits, value), bits);
  return String(BigInt.asUintN(bits, value));
}

/** A register, and the variable of the source that it holds. */
const registerName = (register) => register.name + (register.variable ? ` (${register.variable})` : "");

/** The registers that instructions on floats name: recent compilers declare no other type than a register's bits. */
function floatRegisters() {
  const names = new Set();
  for (const line of rec.ptx.lines) {
    const operands = /^\s*(?:@\S+\s+)?(?!cvt|setp)[a-z]+[.\w]*\.f(?:32|64)\s(.*)/.exec(line)?.[1] ?? "";
    for (const [name] of operands.matchAll(/%\w+/g)) names.add(name);
  }
  return names;
}

const isFloat = (register) => register.bits >= 32 && (/^%f/.test(register.name) || (rec.floats ??= floatRegisters()).has(register.name));

/** What the reader chose; until then, floats are shown as such. */
const formatOf = (register) => view.format ?? (isFloat(register) ? "float" : "integer");

// ---- Registers at a time. A write reaches only the active lanes, so older writes can still show in the others.

function registerNow(strip, number, time) {
  const writes = strip.writes.get(number) ?? [], lanes = Array(32);
  let missing = strip.lanes, at = upTo(writes, time);
  const last = at ? writes[at - 1] : null;
  while (at-- > 0 && missing) {
    const step = rec.steps[writes[at]], values = step.v.find(([register]) => register === number)[1];
    for (const lane of lanesIn(step.a & missing)) lanes[lane] = laneValue(values, lane);
    missing &= ~step.a;
  }
  return { lanes, last };
}

/** A register in a few words for the menu; the common cases do without its 32 values. */
function summary(strip, number, time) {
  const writes = strip.writes.get(number) ?? [], at = upTo(writes, time);
  if (!at) return null;
  const last = writes[at - 1], step = rec.steps[last], register = rec.registers[number];
  const write = (value) => formatValue(value, register.bits, formatOf(register));
  const values = step.v.find(([r]) => r === number)[1], isWhole = !(strip.lanes & ~step.a);
  if (isWhole && typeof values === "string") return { text: write(fromHex(values)), last };
  if (isWhole && values.length === 2 && formatOf(register) !== "float") {
    const each = BigInt.asIntN(64, fromHex(values[1]));
    return { text: `${write(fromHex(values[0]))} ${each < 0n ? "−" : "+"} ${each < 0n ? -each : each}·lane`, last };
  }
  const seen = registerNow(strip, number, time).lanes.map((v) => (v === undefined ? "" : write(v)));
  const set = seen.filter((text) => text);
  const isSame = set.every((text) => text === set[0]);
  return { text: isSame ? set[0] ?? "" : set.slice(0, 3).map((text) => text.slice(0, 7)).join(" ") + (set.length > 3 ? " …" : ""), last };
}

// ---- Memory regions: shared memory of a block, or a global buffer. Indexed once, when first needed.

function regionKey(step, access) {
  if (access.s === "shared") return `shared ${step.b}`;
  return access.s === "global" && access.f != null ? `global ${access.f}` : null;
}

/** `uses` and `stores` list, for each grain (at most 4 bytes), the steps that touched it. */
function newRegion(key) {
  const [space, number] = key.split(" ");
  const isShared = space === "shared", buffer = rec.buffers[number];
  return { key, isShared, name: isShared ? "shared memory" : buffer.name, bytes: isShared ? rec.shared_bytes : buffer.bytes, axes: (isShared ? null : buffer.axes) ?? [], grain: 4, uses: new Map(), stores: new Map(), copies: new Map() };
}

function addToList(map, key, step) {
  const list = map.get(key);
  if (!list) map.set(key, [step]);
  else if (list[list.length - 1] !== step) list.push(step);
}

function eachAccess(visit) {
  rec.steps.forEach((step, i) => step.m.forEach((access) => {
    const key = regionKey(step, access);
    if (key) visit(key, access, step, i);
  }));
}

function indexMemory() {
  regions = new Map();
  if (rec.shared_bytes) rec.blocks.forEach((_, b) => regions.set(`shared ${b}`, newRegion(`shared ${b}`)));
  eachAccess((key, access) => {
    if (!regions.has(key)) regions.set(key, newRegion(key));
    const region = regions.get(key);
    region.grain = Math.min(region.grain, access.n);
  });
  eachAccess((key, access, step, i) => {
    const region = regions.get(key), at = offsets(access);
    for (let lane = 0; lane < 32; lane++) {
      if (!has(access.l, lane)) continue;
      const first = Math.floor(at[lane] / region.grain), last = Math.floor((at[lane] + access.n - 1) / region.grain);
      for (let grain = first; grain <= last; grain++) {
        addToList(region.uses, grain, i);
        if (access.k === "copy") addToList(region.copies, grain, i);
        else if (access.k !== "load") addToList(region.stores, grain, i);
      }
    }
  });
}

/** The last step up to `time` of those listed for the bytes, or -1. */
function lastOf(map, region, byte, bytes, time) {
  let last = -1;
  for (let grain = Math.floor(byte / region.grain); grain * region.grain < byte + bytes; grain++) {
    const list = map.get(grain), at = list ? upTo(list, time) : 0;
    if (at) last = Math.max(last, list[at - 1]);
  }
  return last;
}

function elementName({ key, byte, bytes }) {
  const region = regions.get(key);
  if (region.isShared) return `word ${Math.floor(byte / 4)} of shared memory (byte ${byte}, bank ${Math.floor(byte / 4) % 32})`;
  return `${region.name}[${Math.floor(byte / bytes)}] (${placeIn(region, byte) || `byte ${byte}`})`;
}

/** The lanes of an access, the one that a message names first. */
const lanesFrom = (access, named) => lanesIn(access.l).sort((a, b) => (b === named) - (a === named));

/** The element that n and N follow: the one clicked, else that of the fault's lane, else the first of this step's access. */
function chosenElement() {
  if (view.element) return view.element;
  const step = rec.steps[here()], access = step.m.find((m) => regionKey(step, m));
  const named = here() === rec.fault?.step ? rec.fault.lanes?.[0] : undefined;
  const lane = access && lanesFrom(access, named).find((number) => !isNaN(offsets(access)[number]));
  if (!access || lane === undefined) return null;
  return { key: regionKey(step, access), byte: offsets(access)[lane], bytes: access.s === "shared" ? 4 : access.n };
}

function usesElement(i, element) {
  const list = regions.get(element.key);
  return lastOf(list.uses, list, element.byte, element.bytes, i) === i;
}
