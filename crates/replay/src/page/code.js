// ---- Code

/** How often warps executed each line: its most executed instruction counts; for a call that was inlined, the first of them. */
function countLines() {
  const runs = new Uint32Array(rec.places.length), sources = rec.sources.map(() => new Map()), ptx = new Map();
  for (const step of rec.steps) runs[step.p]++;
  rec.places.forEach(({ at }, p) => {
    if (at.length) sources[at[0].source].set(at[0].line, Math.max(sources[at[0].source].get(at[0].line) ?? 0, runs[p]));
  });
  rec.places.forEach((place, p) => {
    for (const { source, line } of place.at.slice(1)) if (!sources[source].has(line)) sources[source].set(line, runs[p]);
    ptx.set(place.ptx, (ptx.get(place.ptx) ?? 0) + runs[p]);
  });
  return { sources, ptx };
}

/** A text is three columns, each a single node, so that a long file costs little; the lit lines are bars behind them. */
function makeListing(lines, first, counts, name) {
  const column = (className, texts) => html("pre", { className, textContent: texts.join("\n") });
  const margin = html("div", { className: "margin" }, column("counts", lines.map((_, n) => (counts.has(first + n) ? `${counts.get(first + n)}×` : ""))), column("numbers", lines.map((_, n) => first + n)));
  margin.setAttribute("aria-hidden", "true");
  const marks = html("div", { className: "marks" }), body = column("lines", lines);
  return { first, marks, body, parts: [html("div", { className: "name", textContent: name }), html("div", { className: "text" }, marks, margin, body)] };
}

const listings = new Map();

function listingOf(source) {
  if (!listings.has(source)) {
    const isPtx = source === "ptx", { path, text } = isPtx ? { path: "PTX" } : rec.sources[source];
    const lines = isPtx ? rec.ptx.lines : text == null ? ["The text of this file is not in the recording."] : text.replace(/\n$/, "").split(/\r?\n/);
    const isKnown = isPtx || text != null;
    listings.set(source, makeListing(lines, isPtx ? rec.ptx.first : 1, isPtx ? counts.ptx : isKnown ? counts.sources[source] : new Map(), path));
  }
  return listings.get(source);
}

/** Shows a text in its box with the lines lit; the first of `lit` is the current one and is brought into sight. */
function light(box, source, lit, column) {
  const listing = listingOf(source), isNew = box.listing !== listing, from = isNew ? 0 : box.scrollTop, sight = room[box.id] - 3 * LINE;
  if (isNew) {
    box.listing = listing;
    box.replaceChildren(...listing.parts);
    box.scrollTop = 0;
    listing.left = listing.body.offsetLeft + 7;
  }
  const top = (line) => (line - listing.first) * LINE, mark = (className, style) => Object.assign(html("div", { className }), { style });
  const faults = [rec.fault?.step, rec.fault?.other].filter((i) => i != null).map((i) => (source === "ptx" ? placeOf(i).ptx : placeOf(i).at.find((frame) => frame.source === source)?.line));
  const bars = faults.filter((line) => line != null).map((line) => mark("lit mistake", `top: ${top(line)}px`));
  bars.push(...lit.map((line, n) => mark(n ? "lit caller" : "lit now", `top: ${top(line)}px`)).reverse());
  if (column) bars.push(mark("caret", `top: ${top(lit[0]) + LINE - 2}px; left: calc(${listing.left}px + ${column - 1}ch)`));
  listing.marks.replaceChildren(...bars);
  if (lit.length && (top(lit[0]) < from || top(lit[0]) > from + sight)) box.scrollTop = top(lit[0]) - sight / 2;
}

function switchCode(code) {
  view.code = code;
  document.querySelectorAll("[data-code]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.code === code));
  byId("source").hidden = code === "ptx";
  byId("ptx").hidden = code === "source";
  measure();
  if (listings.size) showCode();
}

function showCode() {
  const place = placeOf(here()), shown = view.frame ?? frameOf(here()), frame = place.at[shown];
  if (view.code !== "ptx" && frame) {
    const isKnown = rec.sources[frame.source].text != null;
    const others = place.at.filter((other) => other.source === frame.source && other.line !== frame.line).map((other) => other.line);
    light(byId("source"), frame.source, isKnown ? [frame.line, ...others] : [], isKnown ? frame.column : 0);
  } else if (view.code !== "ptx") light(byId("source"), byId("source").source ?? 0, [], 0);
  if (view.code !== "source") light(byId("ptx"), "ptx", [place.ptx], 0);
  if (frame) byId("source").source = frame.source;
  showCallers(place, shown);
}

/** "index called from shift": the innermost function first, then those into which it was inlined. */
function showCallers(place, shown) {
  const parts = place.at.flatMap((frame, n) => {
    const button = html("button", { type: "button", className: "link", textContent: lineOf(frame), title: rec.sources[frame.source].path });
    button.onclick = () => { view.frame = n; showCode(); };
    button.setAttribute("aria-pressed", n === shown);
    return n ? [" called from ", button] : [button];
  });
  byId("callers").replaceChildren(...(parts.length ? parts : ["This instruction has no source line."]));
}

/** A click on a line goes to its next execution, or from the start again. */
function onListingClick(event) {
  const box = event.currentTarget, { listing } = box;
  if (!listing || event.target.closest(".name") || String(getSelection())) return;
  const line = Math.floor((event.clientY - listing.marks.getBoundingClientRect().top) / LINE) + listing.first;
  const isThere = (i) => (box.id === "ptx" ? placeOf(i).ptx === line : placeOf(i).at.some((frame) => frame.line === line && listingOf(frame.source) === listing));
  const next = find(1, isThere);
  goIfAny(next >= 0 ? next : rec.steps.findIndex((_, i) => isThere(i)), "No warp executed this line in the recording.");
}
