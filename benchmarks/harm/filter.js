// Rows of the last table that hold every word of the box stay; the others hide.
const box = document.getElementById("filter"), found = document.getElementById("found");
const rows = [...[...document.querySelectorAll("main tbody")].at(-1).rows].map((row) => [row, row.innerText.toLowerCase()]);
box.oninput = () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const [row, text] of rows) row.hidden = !words.every((word) => text.includes(word));
  found.value = words.length ? `${rows.filter(([row]) => !row.hidden).length} of ${rows.length} entries` : "";
};
