// Runs kernels in the page: the emulator is in a worker, a switch asks it, and what it answers is shown beside the kernel's source.
// A recording is shown by the page that `emulate --replay` writes, as it is, in a frame.

const LIMIT = 60_000; // Milliseconds after which a launch is stopped.
const place = document.getElementById("live");
const view = { examples: [], ptx: "", chosen: null, choices: [], order: 0, tab: null };

function html(name, properties = {}, ...children) {
  const { dataset, ...others } = properties, element = Object.assign(document.createElement(name), others);
  Object.assign(element.dataset, dataset);
  element.append(...children);
  return element;
}

// ---- The emulator, one question at a time. Of those that come meanwhile only the last matters.

let worker = null, asked = null, next = null, number = 0;

function startWorker() {
  worker?.terminate();
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => finish(data);
  worker.onerror = (event) => finish({ number: asked?.number, failed: event.message || "the worker cannot be loaded" });
}

function ask(question, show) {
  next = { question, show };
  if (!asked) send();
}

function send() {
  asked = { ...next, number: ++number, timer: setTimeout(() => stop(`stopped after ${LIMIT / 1000} s`), LIMIT) };
  next = null;
  // A short launch is over before the eye would see that it was waited for.
  asked.slow = setTimeout(() => { parts.result.classList.add("busy"); parts.stop.hidden = false; }, 150);
  worker.postMessage({ number: asked.number, question: asked.question });
}

function finish(data) {
  if (!asked || data.number !== asked.number) return;
  const { show, timer, slow } = asked;
  clearTimeout(timer);
  clearTimeout(slow);
  asked = null;
  parts.result.classList.remove("busy");
  parts.stop.hidden = true;
  // After a panic, or without memory, this one answers nothing more.
  if (data.failed) startWorker();
  if (next) send(); else show(data);
}

function stop(why) {
  startWorker();
  finish({ number: asked?.number, failed: why });
}

// ---- What a launch did

const names = { instructions: "instructions of threads", warp_instructions: "instructions of warps", sectors: "sectors of global memory", bank_conflicts: "bank conflicts", barriers: "barriers, by warps", local_bytes: "bytes of local memory" };

function row(name, value) {
  return html("tr", {}, html("td", { textContent: name }), html("td", { textContent: typeof value === "number" ? value.toLocaleString("en") : value }));
}

function showAnswer({ answer, failed, milliseconds }) {
  const { result, frame, replay, ofExample } = parts, error = failed ? `The emulator has ended: ${failed}. Another one is ready.` : answer.error;
  result.replaceChildren();
  replay.hidden = Boolean(error);
  ofExample.hidden = !view.chosen;
  if (error) return void result.append(html("div", { className: "outcome wrong", textContent: error }));
  const { made, command, launch } = answer;
  result.append(html("div", { className: made.fault ? "outcome wrong" : "outcome", textContent: made.fault ?? "No fault" }));
  if (made.printed) result.append(html("pre", { textContent: made.printed }));
  for (const note of made.notes) result.append(html("p", { className: "note", textContent: note }));
  const table = html("tbody");
  for (const name in made.counts ?? {}) if (names[name] && (made.counts[name] || name.includes("instructions"))) table.append(row(names[name], made.counts[name]));
  const { blocks, warps, shared_bytes: shared } = made.room;
  table.append(row("a multiprocessor holds", `${blocks} ${blocks === 1 ? "block" : "blocks"}, ${warps} of 64 warps`));
  if (shared) table.append(row("shared memory of a block", `${shared.toLocaleString("en")} bytes`));
  result.append(html("table", {}, table));
  if (made.buffers.length) result.append(html("pre", { className: "wrapped", textContent: made.buffers.join("\n") }));
  result.append(html("p", { className: "note", textContent: `${Math.max(milliseconds, 1).toFixed(0)} ms here. On your machine:` }), html("pre", { className: "wrapped", textContent: command }));
  parts.extent.textContent = `The replay has ${made.extent.replace(/;.*/, "")}.`;
  frame.srcdoc = made.page;
  Object.assign(parts, { made, launch });
}

// ---- An example: its words, its switches, its source

function option(group, text, isChosen, choose) {
  const input = html("input", { type: "radio", name: group, checked: isChosen, onchange: choose });
  return html("label", { className: "option" }, input, text);
}

function switches(example) {
  const boxes = example.switches.map(({ label, options }, at) =>
    html("fieldset", {}, html("legend", { textContent: label }), ...options.map((text, n) => option(`switch${at}`, text, view.choices[at] === n, () => { view.choices[at] = n; runExample(); }))));
  return [...boxes, orders(runExample)];
}

function orders(run) {
  const menu = html("select", { onchange: () => { view.order = Number(menu.value); run(); } });
  for (let order = 0; order < 9; order++) menu.append(html("option", { value: order, textContent: order ? `random, ${order}` : "by index", selected: order === view.order }));
  return html("label", { className: "field" }, html("span", { textContent: "Order of threads" }), menu);
}

function openExample(example, choices = [], order = 0) {
  Object.assign(view, { chosen: example, order, choices: example.switches.map(({ options }, at) => (options[choices[at]] ? choices[at] : 0)) });
  const link = html("a", { href: example.page, textContent: "Its page" });
  const code = html("code", { className: "language-rust", textContent: example.source });
  parts.about.replaceChildren(html("p", {}, `${example.words} `, link, " says more."), html("div", { className: "switches" }, ...switches(example)));
  parts.text.replaceChildren(html("pre", {}, code));
  // The book's own colours, where it has them.
  const colour = window.hljs?.highlightElement ?? window.hljs?.highlightBlock;
  colour?.(code);
  openTab(example.name);
  runExample();
}

function runExample() {
  const { name } = view.chosen, address = `#${name}=${view.choices.join(",")}@${view.order}`;
  history.replaceState(null, "", address);
  ask({ ask: "example", name, choices: view.choices, order: view.order }, showAnswer);
}

// ---- The reader's own text

const form = {
  kernel: { label: "Kernel", value: "", kind: "", hint: "the only one" },
  grid: { label: "Blocks", value: "1", kind: "short", hint: "4 or 4,2" },
  block: { label: "Threads", value: "32", kind: "short", hint: "128 or 16,8" },
  shared: { label: "Dynamic shared bytes", value: "0", kind: "short", hint: "0" },
  blocks: { label: "Blocks in the replay", value: "", kind: "", hint: "0,1, or of the fault" },
  arguments: { label: "Arguments, in the kernel's order", value: "", kind: "long", hint: "f32[64]=iota f32[64] 2.0f32 64u32" },
};

function makeOwn() {
  const text = html("textarea", { spellcheck: false, placeholder: "Paste PTX here, or drop a file.\nnvcc --ptx, cuda_builder, Numba and Triton write it." });
  text.setAttribute("aria-label", "PTX");
  const file = html("input", { type: "file", accept: ".ptx,.txt", onchange: () => take(file.files[0]) });
  const take = async (one) => { if (one) text.value = await one.text(); };
  const fields = Object.entries(form).map(([name, { label, value, kind, hint }]) => {
    const input = html("input", { value, placeholder: hint, spellcheck: false });
    form[name].input = input;
    return html("label", { className: `field ${kind}` }, html("span", { textContent: label }), input);
  });
  const box = html("form", { className: "own", onsubmit: (event) => { event.preventDefault(); runOwn(); } }, text,
    html("div", { className: "fields" }, ...fields), html("div", { className: "fields" }, orders(runOwn), html("button", { textContent: "Run" }), file));
  box.ondragover = (event) => { event.preventDefault(); box.classList.add("over"); };
  box.ondragleave = () => box.classList.remove("over");
  box.ondrop = (event) => {
    event.preventDefault();
    box.classList.remove("over");
    const [dropped] = event.dataTransfer.files;
    if (dropped) take(dropped); else text.value = event.dataTransfer.getData("text");
  };
  form.text = text;
  return box;
}

function openOwn() {
  Object.assign(view, { chosen: null, order: 0 });
  history.replaceState(null, "", "#own");
  parts.about.replaceChildren(html("p", { textContent: "Nothing leaves your machine: the text goes to the emulator in this page. A buffer is written as f32[64], f32[64]=iota or u8[16]=7, a number as 2.0f32 or 64u32." }));
  parts.text.replaceChildren((parts.own ??= makeOwn()));
  parts.result.replaceChildren(html("p", { className: "note", textContent: "The result is shown here." }));
  parts.replay.hidden = true;
  openTab("own");
}

function runOwn() {
  const launch = { order: view.order };
  for (const name in form) if (form[name].input) launch[name] = form[name].input.value.trim();
  launch.blocks = (launch.blocks.match(/\d+/g) ?? []).map(Number);
  launch.shared = Math.min(Math.max(Math.trunc(Number(launch.shared)) || 0, 0), 2 ** 32 - 1);
  ask({ ask: "own", ptx: form.text.value, launch }, showAnswer);
}

/** The launch of an example as the reader's own, to change it further. */
function takeOver() {
  openOwn();
  form.text.value = view.ptx;
  for (const name in form) if (form[name].input) form[name].input.value = parts.launch[name];
  runOwn();
}

// ---- The page

const parts = {};

function openTab(name) {
  view.tab = name;
  for (const button of parts.tabs.children) button.setAttribute("aria-pressed", button.dataset.tab === name);
}

function save(name, text, type) {
  const file = URL.createObjectURL(new Blob([text], { type }));
  html("a", { href: file, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10_000);
}

function makePage({ answer, failed }) {
  if (failed) return void place.replaceChildren(html("p", { className: "outcome wrong", textContent: `The emulator cannot be loaded: ${failed}. It is in the book online, and beside a book that \`.ci/live\` was run for.` }));
  Object.assign(view, answer);
  const tab = (name, title, open) => html("button", { type: "button", textContent: title, dataset: { tab: name }, onclick: open });
  parts.tabs = html("nav", {}, ...view.examples.map((example) => tab(example.name, example.title, () => openExample(example))), tab("own", "Your own PTX", openOwn));
  parts.tabs.setAttribute("aria-label", "Kernels");
  parts.about = html("div");
  parts.text = html("div");
  parts.frame = html("iframe", { title: "Replay of the launch" });
  // Scripts of the replay alone: it neither reads this page nor leads away from it.
  parts.frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  parts.extent = html("span");
  const link = (text, onclick) => html("button", { type: "button", className: "link", textContent: text, onclick });
  parts.ofExample = html("span", {}, " · ", link("Save the kernels' PTX", () => save("live-kernels.ptx", view.ptx, "text/plain")), " · ", link("Change the launch", takeOver));
  parts.replay = html("div", { hidden: true },
    html("p", { className: "note" }, parts.extent, " ", link("Full screen", () => parts.frame.requestFullscreen()), " · ", link("Save the replay", () => save("replay.html", parts.made.page, "text/html")), parts.ofExample),
    parts.frame);
  place.replaceChildren(parts.tabs, parts.about, html("div", { className: "pair" }, parts.text, html("div", {}, parts.stop, parts.result)), parts.replay);
  fromAddress();
}

/** `#reverse`, `#reverse=1,0@2` or `#own`; else the first example. */
function fromAddress() {
  const [, name, choices, order] = /^#(\w+)(?:=([\d,]+))?(?:@(\d+))?$/.exec(location.hash) ?? [];
  const example = view.examples.find((one) => one.name === name);
  if (name === "own") return openOwn();
  // Another anchor of the page.
  if (!example && view.tab) return;
  openExample(example ?? view.examples[0], choices?.split(",").map(Number), Math.min(Number(order ?? 0), 8));
}

parts.result = html("div", { className: "result" });
parts.result.setAttribute("aria-live", "polite");
parts.stop = html("button", { type: "button", textContent: "Stop", hidden: true, onclick: () => stop("it was stopped") });
// The book turns its pages by arrow keys, which choose among a switch's options here.
place.addEventListener("keydown", (event) => event.stopPropagation());
// The book on one page, for a printer, runs nothing.
if (!location.pathname.endsWith("/print.html")) {
  addEventListener("hashchange", fromAddress);
  startWorker();
  ask({ ask: "examples" }, makePage);
}
