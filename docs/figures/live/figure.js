// What the figures to play with have in common: a form, a sentence and a table that say what follows, and a drawing.
//
// A page has `<div data-figure="NAME">`, with the still picture in it if the figure takes its place. NAME.js calls `figure`:
//
//     figure("NAME", {
//       title,
//       fields: [{ name, label, value, min, max, step }, { name, label, value, options: [[value, text], ..] }],
//       compute(values),              // what follows: pure, and tested against the Rust code; `{ error }` for what cannot be
//       says(result, values),         // a sentence
//       rows(result, values),         // [[name, value], ..], what the sentence leaves out
//       texts,                        // how many of a row's cells are texts, from the left: 1 where it is not given
//       draw(result, values, width),  // elements of the drawing, and its height; text is not scaled, so it is read on a phone
//     })

// The book's own scripts have names of all kinds, so these have one: `interactive`.
const interactive = (() => {
  /** By name, for tests. */
  const figures = {};

  function html(name, properties = {}, ...children) {
    const { aria = {}, ...others } = properties, element = Object.assign(document.createElement(name), others);
    for (const key in aria) element.setAttribute(`aria-${key}`, aria[key]);
    element.append(...children);
    return element;
  }

  /** An element of a drawing: `svg("rect", { x: 1, class: "blue" })`. Text is its last argument. */
  function svg(name, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.append(...children);
    return element;
  }

  const grouped = (number) => number.toLocaleString("en");
  const counted = (number, one) => `${grouped(number)} ${number === 1 ? one : `${one}s`}`;
  /** Three digits. */
  const three = (number) => (number === 0 ? "0" : number >= 1000 ? grouped(Math.round(number)) : String(Number(number.toPrecision(3))));
  const percent = (share) => `${three(100 * share)} %`;

  function figure(name, about) {
    figures[name] = about;
    document.querySelectorAll(`[data-figure="${name}"]`).forEach((place) => show(place, about));
  }

  function show(place, about) {
    const values = {}, says = html("p", { className: "says", aria: { live: "polite" } }), table = html("tbody"), drawing = svg("svg", { "aria-hidden": "true" });
    let width = 0;
    const redraw = () => {
      const result = about.compute(values), words = result.error ?? about.says(result, values);
      // The same words again would be read out again.
      if (says.textContent !== words) says.textContent = words;
      says.classList.toggle("wrong", Boolean(result.error));
      const rows = result.error ? [] : about.rows(result, values);
      // A blank that holds together, and a place to break a long name at.
      const cell = (text, at) => html("td", { textContent: text.replaceAll(" %", "\u00a0%").replaceAll("_", "_\u200b"), className: at < (about.texts ?? 1) ? "" : "number" });
      table.replaceChildren(...rows.map((cells) => html("tr", {}, ...cells.map(cell))));
      // What cannot be has no picture; the one before stays, so that the page does not jump.
      drawing.classList.toggle("old", Boolean(result.error));
      if (result.error) return;
      const [height, ...parts] = about.draw(result, values, width);
      for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) drawing.setAttribute(key, value);
      drawing.replaceChildren(...parts);
    };
    const inputs = about.fields.map((field) => input(field, values, redraw));
    const reset = html("button", { type: "button", textContent: "Reset", onclick: () => { inputs.forEach(({ back }) => back()); redraw(); } });
    const form = html("form", { onsubmit: (event) => event.preventDefault() }, ...inputs.map(({ element }) => element), reset);
    const box = html("section", { className: "interactive", aria: { label: about.title } }, html("p", { className: "title", textContent: about.title }), form, says, drawing, html("table", {}, table));
    // The book turns its pages by arrow keys, which move a slider here.
    box.addEventListener("keydown", (event) => event.stopPropagation());
    // The still picture stays for a printer.
    for (const child of place.children) child.classList.add("still");
    place.append(box);
    new ResizeObserver(() => {
      const now = Math.max(Math.floor(form.clientWidth), 200);
      if (now === width) return;
      width = now;
      redraw();
    }).observe(box);
  }

  let ids = 0;

  /** A menu, or a slider with a number beside it; `back` sets it as it was at first. */
  function input({ name, label, value, min, max, step = 1, options }, values, changed) {
    const set = (to) => { values[name] = to; }, id = `interactive-${++ids}`, caption = html("label", { htmlFor: id, textContent: label });
    set(value);
    if (options) {
      const menu = html("select", { id, onchange: () => { set(menu.value); changed(); } }, ...options.map(([key, text]) => html("option", { value: key, textContent: text })));
      const back = () => { menu.value = value; set(value); };
      back();
      return { element: html("div", { className: "field" }, caption, menu), back };
    }
    const bounds = { min, max, step: 1 };
    const slider = html("input", { id, type: "range", ...bounds, value, oninput: () => { number.value = slider.value; set(Number(slider.value)); changed(); } });
    const number = html("input", { type: "number", ...bounds, value, aria: { label: `${label}, as a number` } });
    // A slider's own step would round what is typed into the number: coarse steps are those of its keys.
    if (step > 1) slider.addEventListener("keydown", (event) => {
      const by = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step }[event.key];
      if (!by) return;
      event.preventDefault();
      slider.value = Number(slider.value) + by;
      slider.oninput();
    });
    const valid = (is) => number.setAttribute("aria-invalid", String(!is));
    number.oninput = () => {
      const typed = Math.round(Number(number.value)), is = number.value !== "" && typed >= min && typed <= max;
      valid(is);
      // A number that is half typed is not an answer yet.
      if (!is) return;
      slider.value = typed;
      set(typed);
      changed();
    };
    const tell = (to) => { set(to); number.value = slider.value = to; valid(true); };
    number.onchange = () => tell(values[name]);
    return { element: html("div", { className: "field" }, caption, slider, number), back: () => tell(value) };
  }

  return { figures, figure, svg, grouped, counted, three, percent };
})();
