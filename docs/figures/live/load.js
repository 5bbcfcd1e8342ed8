// Every page of the book loads this. It loads the rest only where a page has a figure to play with, or questions to answer, and says in
// the list of pages how many questions of each the reader had right.
// Scripts are classic ones, since modules cannot be loaded by a book that is opened from a folder.
(() => {
  const here = document.currentScript.src;
  // The book on one page, for a printer, has the still figures.
  if (location.pathname.endsWith("/print.html")) return;
  function tell() {
    for (const link of document.querySelectorAll(".sidebar a[href]")) {
      let kept = null;
      try { kept = JSON.parse(localStorage.getItem(`check-yourself ${new URL(link.href).pathname}`)); } catch { /* Private windows. */ }
      link.querySelector(".right")?.remove();
      if (kept) link.append(Object.assign(document.createElement("span"), { className: "right", textContent: ` ${kept.right}/${kept.of}`, title: `${kept.right} of ${kept.of} questions right` }));
    }
  }
  tell();
  addEventListener("answers-kept", tell);

  const names = [...document.querySelectorAll("[data-figure]")].map((place) => place.dataset.figure);
  const files = [];
  if (names.length) files.push("figure.js", ...(names.includes("roofline") ? ["measured.js"] : []), ...new Set(names.map((name) => `${name}.js`)));
  if (document.getElementById("check-yourself")) files.push("answers.js");
  if (!files.length) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("figures.css", here).href }));
  for (const file of files) document.body.append(Object.assign(document.createElement("script"), { src: new URL(file, here).href, async: false }));
})();
