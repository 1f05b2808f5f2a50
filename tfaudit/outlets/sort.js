// Tables sort by a click on a heading: ascending, descending, as it was.
for (const table of document.querySelectorAll("table.figures")) {
  const body = table.tBodies[0], rows = [...body.rows], headings = [...table.tHead.rows[0].cells];
  if (rows.length < 2) continue;
  const number = (text) => {
    const match = text.replaceAll(",", "").replace("−", "-").replace("<", "").match(/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i);
    return match ? parseFloat(match[0]) : NaN;
  };
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    heading.append(button);
    button.onclick = () => {
      const before = heading.getAttribute("aria-sort");
      const order = before === "ascending" ? "descending" : before ? "" : "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      if (order) heading.setAttribute("aria-sort", order);
      const cells = new Map(rows.map((row) => [row, row.cells[column].innerText.trim()]));
      const given = [...cells.values()].filter((text) => text && text !== "–");
      const numeric = given.every((text) => !Number.isNaN(number(text)));
      const compare = (a, b) => (numeric ? number(a) - number(b) : a.localeCompare(b, undefined, { numeric: true }));
      const known = rows.filter((row) => cells.get(row) && cells.get(row) !== "–");
      const sign = order === "descending" ? -1 : 1;
      if (order) known.sort((a, b) => sign * compare(cells.get(a), cells.get(b)));
      body.append(...(order ? [...known, ...rows.filter((row) => !known.includes(row))] : rows));
    };
  });
}
// A link into a fold opens it; print opens all and closes those again that were closed.
const reveal = () => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = place?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  place?.querySelector(":scope > details")?.setAttribute("open", "");
  place?.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });
// The contents mark the section that is read.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(entry.target.id);
      link?.setAttribute("aria-current", "true");
      // A row of contents that is wider than the page follows.
      if (link) link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.clientWidth / 3;
    }
  },
  { rootMargin: "-10% 0px -80% 0px" }
);
for (const id of links.keys()) if (document.getElementById(id)) seen.observe(document.getElementById(id));
