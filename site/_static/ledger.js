// Sorts and filters a table of cells. The table stands in the page; rows are hidden or moved, never made.
// What is chosen stands in the address.
const SEARCHED = ["row", "judge", "dataset", "aspect", "level", "coefficient"];
const NUMBERS = ["printed", "ours", "interval", "difference"];
const table = document.querySelector("table.ledger");
if (table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.dataset.name);
  const form = document.querySelector(".ledger-filter");
  const search = form.querySelector("input");
  const selects = [...form.querySelectorAll("select")];
  const rows = [...body.rows].map((line) => {
    const cells = [...line.cells].map((cell) => cell.textContent.trim());
    const searched = cells.filter((_, column) => SEARCHED.includes(names[column]));
    return { line, cells, text: searched.join(" ").toLowerCase() };
  });
  const order = new Intl.Collator("en", { numeric: true });

  let most = 250; // rows drawn at once, so that a phone keeps up; site.css has the number too
  let sorted = ""; // a column's name, after a minus where the order is turned round
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

  const sort = () => {
    const down = sorted.startsWith("-");
    const name = sorted.slice(down);
    const column = names.indexOf(name);
    if (column < 0) return;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    rows.sort(({ cells: a }, { cells: b }) => {
      if (!a[column] || !b[column]) return !a[column] - !b[column]; // empty cells come last
      const [one, other] = [a[column], b[column]];
      return sign * (NUMBERS.includes(name) ? parseFloat(one) - parseFloat(other) : order.compare(one, other));
    });
    body.replaceChildren(...rows.map((row) => row.line));
  };

  const remember = () => {
    const chosen = [search, ...selects].map((field) => [field.name, field.value]);
    const address = new URL(location);
    address.search = new URLSearchParams([...chosen, ["sort", sorted]].filter(([, value]) => value));
    history.replaceState(null, "", address);
  };

  const asked = new URLSearchParams(location.search);
  for (const select of selects) {
    const values = new Set(rows.map((row) => row.cells[select.dataset.column]));
    select.append(...[...values].map((value) => new Option(value)));
    select.value = asked.get(select.name) || "";
  }
  search.value = asked.get("text") || "";
  sorted = asked.get("sort") || "";
  form.addEventListener("input", () => {
    filter();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    sorted = sorted === names[column] ? `-${names[column]}` : names[column];
    sort();
    filter();
    remember();
  }));
  more.addEventListener("click", all);
  window.addEventListener("beforeprint", all);
  sort();
  filter();
  table.classList.add("ready"); // the style sheet hides nothing more
}
