// One memory in the drawer: its state, its text rendered or as the source, its score and its links.

/**
 * Open a memory by its file or its name.
 *
 * `found` is the result of a recall, if it was opened from one: its passage is marked, and its score shown.
 */
function openMemory(key, app, found = null) {
  const state = make("div", {}, found ? stateList(found.validity, app) : []);
  const text = make("div", { class: "memory-text" },
    found ? written("div", found.snippet, { class: "passage" }) : make("p", { class: "quiet" }, "Loading …"));
  const links = make("div", {});
  const title = found ? titleOf(found) : titleOfFile(key);
  const body = drawer(title, found ? linesOf(found.provenance) : key, state, text,
    found ? [make("h3", {}, `Score: number ${found.number}`), memoryLedger(found)] : null,
    links,
    found ? facts("Front matter", found.provenance.metadata) : null);
  returnFocus(body.closest("dialog"), key);
  if (app.live) loadMemory(key, app, { body, state, text, links, found });
  else if (app.links?.[key]) addLinks(links, app.links[key], null);
}

/** Focus the row of a memory when its drawer closes and the row was replaced in the meantime. */
function returnFocus(dialog, file) {
  dialog.addEventListener("close", () => {
    if (document.activeElement !== document.body) return;
    document.querySelector(`main [data-file="${CSS.escape(file)}"]`)?.focus();
  });
}

async function loadMemory(key, app, { body, state, text, links, found }) {
  try {
    const around = new URLSearchParams({ key, hops: 2 });
    const [memory, graph] = await Promise.all([ask("GET", memoryPath(key)), ask("GET", `/v1/graph?${around}`)]);
    learnTitles(Object.entries(graph.titles ?? {}));
    const validity = graph.validities?.[memory.file];
    const title = titleOfFile(memory.file);
    if (!found) retitle(body, title, memory.file);
    state.replaceChildren(stateList(validity, app));
    const lines = found && [found.provenance.lineStart, found.provenance.lineEnd];
    showText(text, { ...memory, title, validity, lines }, app);
    addLinks(links, graph, (file) => openMemory(file, app));
  } catch (problem) {
    text.append(written("p", problem.message, { class: "problem", role: "alert" }));
  }
}

function addLinks(box, graph, visit) {
  box.append(make("h3", {}, "Links"), linksOf(graph, visit));
}

/** Show the text of a memory in a box, with the buttons that apply to it. */
function showText(box, memory, app, isSource = memory.text.length > MOST_RENDERED) {
  const passage = memory.lines;
  const text = isSource
    ? sourceOf(memory.text, passage)
    : markdown(memory.text, { title: memory.title, marked: passage, linkTo: linkIn(memory.file, app) });
  const toggle = make("button", { type: "button", "aria-pressed": String(isSource), on: { click: () => {
    showText(box, memory, app, !isSource);
    box.querySelector("[aria-pressed]").focus();
  } } }, "Source");
  const isLong = memory.text.length > MOST_RENDERED;
  box.replaceChildren(
    make("div", { class: "buttons" }, isLong ? null : toggle, app.about.edit ? changeButtons(box, memory, app) : null),
    ...(isLong ? [make("p", { class: "quiet" }, "This memory is too long to render.")] : []),
    text);
  if (passage) text.querySelector(".inside")?.scrollIntoView({ block: "nearest" });
}

/** The file as it is, the lines of a passage marked. */
function sourceOf(text, lines) {
  const rows = text.split("\n").map((row, at) => {
    const inside = lines && at + 1 >= lines[0] && at + 1 <= lines[1];
    return written("div", row || "\u200b", { class: inside ? "line inside" : "line" });
  });
  return make("div", { class: "passage source" }, rows);
}
