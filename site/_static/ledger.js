// Sorts and filters a table of cells. The table stands in the page; rows are hidden or moved, never made.
const table = document.querySelector("table.ledger");
if (table) {
  const body = table.tBodies[0];
  const form = document.querySelector(".ledger-filter");
  const search = form.querySelector("input");
  const selects = [...form.querySelectorAll("select")];
  const rows = [...body.rows].map((line) => {
    const cells = [...line.cells].map((cell) => cell.textContent.trim());
    return { line, cells, text: cells.join(" ").toLowerCase() };
  });
  const order = new Intl.Collator("en", { numeric: true });

  let most = 250; // rows drawn at once, so that a phone keeps up
  const more = form.querySelector("button");

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const wanted = selects.filter((s) => s.value).map((s) => [s.dataset.column, s.value]);
    let found = 0;
    for (const { line, cells, text } of rows) {
      const keep = words.every((word) => text.includes(word)) && wanted.every(([c, v]) => cells[c] === v);
      found += keep;
      line.hidden = !keep || found > most;
    }
    form.querySelector("output").textContent = `${found} of ${rows.length} cells`;
    more.hidden = found <= most;
    more.textContent = `first ${most} drawn: draw all`;
  };
  const all = () => {
    most = Infinity;
    filter();
  };

  const sort = (column, button) => {
    const head = button.parentElement;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = ["printed", "ours", "interval", "difference"].includes(head.dataset.name);
    const sign = down ? -1 : 1;
    rows.sort(({ cells: a }, { cells: b }) => {
      if (!a[column] || !b[column]) return !a[column] - !b[column]; // empty cells come last
      return sign * (numeric ? parseFloat(a[column]) - parseFloat(b[column]) : order.compare(a[column], b[column]));
    });
    body.replaceChildren(...rows.map((row) => row.line));
    filter();
  };

  const asked = new URLSearchParams(location.search);
  for (const select of selects) {
    const values = new Set(rows.map((row) => row.cells[select.dataset.column]));
    select.append(...[...values].map((value) => new Option(value)));
    select.value = asked.get(select.parentElement.firstChild.textContent.trim()) || "";
  }
  search.value = asked.get("text") || "";
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  [...table.tHead.querySelectorAll("button")].forEach((button, column) =>
    button.addEventListener("click", () => sort(column, button)));
  more.addEventListener("click", all);
  window.addEventListener("beforeprint", all);
  filter();
}
