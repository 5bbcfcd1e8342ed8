// ---- Moves

const isStaying = () => byId("stay").checked;
const find = (direction, test) => {
  for (let i = view.time + direction; i >= 0 && i < rec.steps.length; i += direction) if (test(i)) return i;
  return -1;
};
const ofWarp = (i) => !isStaying() || stripOf[i] === view.strip;

function go(i, strip = stripOf[i]) {
  Object.assign(view, { time: i, strip, frame: null });
  show();
}

function goIfAny(i, otherwise) {
  if (i >= 0) go(i); else byId("sentence").textContent = otherwise;
}

/** Within the warp: on to another line; backwards, on to where that line began. */
function moveLine(direction) {
  const { steps } = strips[view.strip], from = lineName(here());
  let at = upTo(steps, view.time) - 1;
  do at += direction; while (at >= 0 && at < steps.length && lineName(steps[at]) === from);
  if (direction < 0) while (at > 0 && lineName(steps[at - 1]) === lineName(steps[at])) at--;
  goIfAny(steps[at] ?? -1, "This warp executes no further line.");
}

function moveAccess(direction) {
  const element = chosenElement();
  if (!element) return goIfAny(-1, "Choose an element of memory first: click on it in the drawing.");
  view.element = element;
  goIfAny(find(direction, (i) => usesElement(i, element)), `There is no ${direction > 0 ? "later" : "earlier"} access of ${elementName(element)}.`);
}

function lookAtWarp(number) {
  if (!strips[number]) return;
  const isBegun = strips[number].steps[0] <= view.time;
  go(isBegun ? view.time : strips[number].steps[0], number);
}

const moves = {
  first: () => go(0),
  last: () => go(rec.steps.length - 1),
  back: () => goIfAny(find(-1, ofWarp), "This is the first step."),
  forward: () => goIfAny(find(1, ofWarp), "This is the last step."),
  lineBack: () => moveLine(-1),
  lineForward: () => moveLine(1),
  barrier: () => goIfAny(find(1, (i) => rec.steps[i].y && ofWarp(i)), "There is no later barrier."),
  barrierBack: () => goIfAny(find(-1, (i) => rec.steps[i].y && ofWarp(i)), "There is no earlier barrier."),
  access: () => moveAccess(1),
  accessBack: () => moveAccess(-1),
  fault: () => goIfAny(rec.fault?.step ?? -1, rec.fault ? "The step of the fault is not in the recording." : "This recording has no fault."),
  other: () => goIfAny(rec.fault?.other ?? -1, "There is no other access."),
  save: () => saveSvg(),
  keys: () => byId("keys").showModal(),
};

const KEYS = {
  ArrowLeft: "back", ArrowRight: "forward", ArrowUp: "lineBack", ArrowDown: "lineForward", Home: "first", End: "last",
  b: "barrier", B: "barrierBack", n: "access", N: "accessBack", f: "fault", "?": "keys",
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open || event.target.closest?.("select")) return;
  let move = KEYS[event.key];
  if (event.shiftKey && move === "back") move = "lineBack";
  if (event.shiftKey && move === "forward") move = "lineForward";
  if (move === "fault" && view.time === rec.fault?.step && rec.fault.other != null) move = "other";
  if (/^[1-9]$/.test(event.key)) lookAtWarp(Number(event.key) - 1);
  else if (move) moves[move]();
  else return;
  event.preventDefault();
}

// ---- Time: drawn once for a size; only the cursor moves

function drawStrips() {
  const canvas = byId("strips").firstElementChild, width = byId("strips").clientWidth, ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = strips.length * ROW * ratio;
  canvas.style.height = `${strips.length * ROW}px`;
  const paint = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const bar = (from, to, top, height, name) => {
    const left = Math.floor((from / rec.steps.length) * canvas.width), right = Math.ceil((to / rec.steps.length) * canvas.width);
    paint.fillStyle = colours[name] ??= colour(name);
    paint.fillRect(left, Math.round(top * ratio), Math.max(right - left, 1), Math.round(height * ratio));
  };
  const colours = {};
  strips.forEach((strip, number) => drawStrip(strip, number * ROW, bar));
  for (const i of [rec.fault?.step, rec.fault?.other]) if (i != null) drawFault(paint, (i + 0.5) / rec.steps.length * width, stripOf[i] * ROW, ratio, colour("bad"));
}

/** Full height: all of the warp's lanes ran; half: some were masked off; pale: it waits; a thin line: others have their turn. */
function drawStrip(strip, top, bar) {
  const end = rec.steps.length;
  strip.steps.forEach((i, n) => {
    const step = rec.steps[i], next = strip.steps[n + 1] ?? end, alive = strip.lanes & ~step.x;
    if (!alive || next === i + 1) return;
    const isWaiting = (alive & ~step.z) === 0;
    bar(i + 1, next, isWaiting ? top + 4 : top + ROW - 4, isWaiting ? ROW - 7 : 1, isWaiting ? "waited" : "hatch");
  });
  // Half before full: where steps share a pixel, the fuller one shows.
  for (const isFull of [false, true]) {
    for (const i of strip.steps) {
      const step = rec.steps[i], before = strip.lanes & ~step.x;
      if ((((before | step.a) & ~step.a) === 0) !== isFull) continue;
      bar(i, i + 1, isFull ? top + 4 : top + 4 + (ROW - 7) / 2, isFull ? ROW - 7 : (ROW - 7) / 2, `block${strip.b % 4}`);
    }
  }
  const tick = rec.steps.length > 1500 ? 4 : ROW; // Where they are dense, long ticks would hide the rest.
  for (const i of strip.steps) if (rec.steps[i].y) bar(i + 0.5, i + 0.5, top, tick, "ink");
}

function drawFault(paint, x, top, ratio, colour) {
  paint.fillStyle = colour;
  paint.fillRect((x - 1) * ratio, 0, 2 * ratio, strips.length * ROW * ratio);
  paint.beginPath();
  paint.arc(x * ratio, (top + ROW / 2) * ratio, 5 * ratio, 0, 7);
  paint.fill();
}

function makeStrips() {
  strips.forEach((strip, number) => {
    const button = html("button", { type: "button", title: number < 9 ? `Look at ${warpName(strip)} (key ${number + 1})` : `Look at ${warpName(strip)}`, onclick: () => lookAtWarp(number) });
    button.append(`${rec.blocks.length > 1 ? `block ${rec.blocks[strip.b]} ` : ""}warp ${strip.w}`);
    button.setAttribute("aria-label", warpName(strip));
    byId("strip-names").append(button);
  });
  const box = byId("strips");
  let row = null;
  const follow = (event) => {
    const area = box.getBoundingClientRect();
    const time = Math.min(Math.max(Math.floor(((event.clientX - area.left) / area.width) * rec.steps.length), 0), rec.steps.length - 1);
    row ??= Math.floor((event.clientY - area.top) / ROW);
    go(time, strips[row]?.steps[0] <= time ? row : stripOf[time]);
  };
  box.onpointerdown = (event) => { row = null; box.setPointerCapture(event.pointerId); follow(event); };
  box.onpointermove = (event) => { if (box.hasPointerCapture(event.pointerId)) follow(event); };
  box.setAttribute("aria-valuemax", rec.steps.length);
}

function showTime() {
  const i = here(), step = rec.steps[i], place = placeOf(i), strip = strips[view.strip];
  byId("cursor").style.left = `min(${((view.time + 0.5) / rec.steps.length) * 100}%, 100% - 3px)`;
  const names = byId("strip-names");
  [...names.children].forEach((button, number) => button.setAttribute("aria-pressed", number === view.strip));
  const box = byId("time"), top = view.strip * ROW;
  if (strips.length * ROW > room.time && (top < box.scrollTop || top + ROW > box.scrollTop + room.time)) box.scrollTop = top - ROW;
  const standing = i === view.time ? "" : ` This warp has stood here since step ${i + 1}.`;
  const text = `Step ${view.time + 1} of ${rec.steps.length}: ${warpName(strip)}, ${lineName(i)}: ${ptxText(place)}${step.y ? " (a barrier)" : ""}${standing}`;
  byId("sentence").textContent = text;
  byId("strips").setAttribute("aria-valuenow", view.time + 1);
  byId("strips").setAttribute("aria-valuetext", text);
}
