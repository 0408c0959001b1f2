// One hit, in a drawer at the side; Escape closes it, and focus goes back to where it was.

/** Open a drawer with a title, a line below it, and what it holds. */
function drawer(title, where, ...children) {
  const close = make("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
  const head = make("header", {},
    make("div", {},
      written("h2", title, { id: "drawer-title" }),
      where ? make("p", { class: "where" }, make("bdi", {}, where)) : null),
    close);
  const body = make("div", { class: "drawer-body", tabIndex: -1 }, children);
  const dialog = make("dialog", { class: "drawer", "aria-labelledby": "drawer-title" }, head, body);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  for (const open of document.querySelectorAll("dialog.drawer")) open.close();
  document.body.append(dialog);
  dialog.showModal();
  body.focus();
  return body;
}

/** Change the title of the drawer around a body, and the line below it. */
function retitle(body, title, where) {
  const head = body.previousElementSibling;
  head.querySelector("h2").textContent = title;
  head.querySelector(".where bdi").textContent = where;
}

/** A hit of an index: its passage, its score to the last part, and what is known of it. */
function openHit(hit) {
  const marks = hit.highlights ?? {};
  const tags = hit.tags?.length ? make("ul", { class: "tags" }, hit.tags.map((tag) => written("li", tag))) : null;
  drawer(nameOf(hit), placeOf(hit),
    tags,
    hit.summary ? written("p", hit.summary, { class: "summary" }) : null,
    marked("div", hit.content, marks.content, { class: "passage" }),
    make("h3", {}, `Score: number ${hit.rank}`),
    hit.explanation ? chunkLedger(hit.explanation) : null,
    hit.why ? make("details", { class: "facts" }, make("summary", {}, "In words"), written("p", hit.why)) : null,
    facts("Chunk", { id: hit.id, ordinal: hit.ordinal, ...hit.metadata }));
}

/** A table of names and values that is opened on request. */
function facts(title, values) {
  const rows = Object.entries(values).map(([name, value]) =>
    make("tr", {}, written("th", name, { scope: "row" }),
      written("td", typeof value === "string" ? value : JSON.stringify(value))));
  return make("details", { class: "facts" },
    make("summary", {}, title),
    make("table", {}, make("tbody", {}, rows)));
}
