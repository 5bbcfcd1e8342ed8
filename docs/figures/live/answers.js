// The questions at a page's end, under "Check yourself": a place for each answer, and whether it was right. All of it stays in this browser.
{
  const heading = document.getElementById("check-yourself"), KEY = `check-yourself ${location.pathname}`;
  const following = (tag) => { for (let one = heading.nextElementSibling; one && one.tagName !== heading.tagName; one = one.nextElementSibling) if (one.matches(tag)) return one; };
  const questions = [...(following("ol")?.children ?? [])], folded = following("details");

  /** Per question the text, and whether the reader had it right. A browser that keeps nothing is fine. */
  const kept = (() => { try { return JSON.parse(localStorage.getItem(KEY)).answers; } catch { return questions.map(() => ({})); } })();
  const answered = () => kept.filter(({ text }) => text).length, right = () => kept.filter((one) => one.right).length;
  function keep() {
    try {
      if (answered() || right()) localStorage.setItem(KEY, JSON.stringify({ of: questions.length, right: right(), answers: kept }));
      else localStorage.removeItem(KEY);
    } catch { /* Private windows. */ }
    dispatchEvent(new Event("answers-kept"));
    tell();
  }

  const says = Object.assign(document.createElement("p"), { className: "kept" }), words = document.createElement("span");
  words.setAttribute("role", "status");
  const forget = Object.assign(document.createElement("button"), { type: "button", textContent: "Forget them" });
  function tell() {
    const some = answered() || right();
    words.textContent = some ? `${answered()} of ${questions.length} answered, ${right()} right. They stay in this browser; nothing is sent. ` : "What you write here stays in this browser; nothing is sent.";
    forget.hidden = !some;
  }

  const fields = questions.map((question, at) => {
    const of = (kept[at] ??= {});
    const text = Object.assign(document.createElement("textarea"), { rows: 1, placeholder: "Your answer", value: of.text ?? "" });
    text.setAttribute("aria-label", `Your answer to question ${at + 1}`);
    const tick = Object.assign(document.createElement("input"), { type: "checkbox", checked: Boolean(of.right) });
    const label = document.createElement("label");
    label.append(tick, " I had it right");
    const fit = () => { text.style.height = "auto"; text.style.height = `${text.scrollHeight + 2}px`; };
    text.oninput = () => { of.text = text.value.trim(); fit(); keep(); };
    tick.onchange = () => { of.right = tick.checked; keep(); };
    const box = Object.assign(document.createElement("div"), { className: "answer" });
    box.append(text, label);
    // The book turns its pages, and searches, by keys.
    box.addEventListener("keydown", (event) => event.stopPropagation());
    question.append(box);
    fit();
    // Whether it was right is known only after a look at the answers.
    label.hidden = !(folded?.open || of.right);
    folded?.addEventListener("toggle", () => (label.hidden = !(folded.open || tick.checked)));
    return { of, text, tick, fit };
  });
  forget.onclick = () => {
    for (const { of, text, tick, fit } of fields) { Object.assign(of, { text: "", right: false }); text.value = ""; tick.checked = false; fit(); }
    keep();
    fields[0].text.focus();
  };
  says.append(words, forget);
  if (questions.length) following("ol").after(says);
  tell();
}
