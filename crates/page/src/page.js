// A press on a column's header sorts by it. Words in the field above a table hide the rows without
// them. Rows stay under their heading.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const groups = [];
  for (const row of body.rows) {
    const heading = row.querySelector("th.group") ? row : null;
    if (heading || groups.length === 0) groups.push({ heading, rows: [] });
    if (!heading) groups.at(-1).rows.push(row);
  }
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    const text = (row) => row.cells[column].textContent;
    const number = (row) => parseFloat(text(row).replaceAll(",", ""));
    button.onclick = () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = sign > 0 ? "ascending" : "descending";
      // Rows without a number come last.
      const byNumber = (a, b) => isNaN(number(a)) - isNaN(number(b)) || sign * (number(a) - number(b)) || 0;
      const byText = (a, b) => sign * text(a).localeCompare(text(b));
      for (const { heading, rows } of groups) {
        rows.sort(head.classList.contains("n") ? byNumber : byText);
        body.append(...(heading ? [heading] : []), ...rows);
      }
    };
  }
  if (body.rows.length < 10) continue;
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = field.ariaLabel = "only rows with these words";
  table.parentElement.before(field);
  field.oninput = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const { heading, rows } of groups) {
      for (const row of rows) {
        const text = `${heading ? heading.textContent : ""} ${row.textContent}`.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      if (heading) heading.hidden = rows.every((row) => row.hidden);
    }
  };
}
