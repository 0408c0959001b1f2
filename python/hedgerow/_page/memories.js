// Memories of a root that a server gives: lists of them, one whole, and its editor.

/** Put the whole memory in the place of its passage, and its links below. */
async function fillMemory(body, passage, file, lines, app) {
  try {
    const memory = await ask("GET", memoryPath(file));
    passage.replaceWith(memoryText(memory, lines, app));
    const graph = await ask("GET", `/v1/graph?${new URLSearchParams({ key: memory.file, hops: 2 })}`);
    addLinks(body, graph, (key) => openMemory(key, app));
  } catch (problem) {
    body.append(written("p", problem.message, { class: "problem", role: "alert" }));
  }
}

/** Open a memory by the name of its file. */
function openMemory(file, app) {
  const passage = make("p", { class: "quiet" }, "Reading …");
  const body = drawer(shortName(file), file, passage);
  return fillMemory(body, passage, file, null, app);
}

/** The text of a memory, the lines of a passage marked, with a button to edit it where one may. */
function memoryText(memory, lines, app) {
  const texts = memory.text.split("\n").map((text, at) => {
    const inside = lines && at + 1 >= lines[0] && at + 1 <= lines[1];
    return written("div", text || "\u200b", { class: inside ? "line inside" : "line" });
  });
  const whole = make("div", { class: "passage whole" }, texts);
  const edit = app.about.edit
    ? make("button", { type: "button", on: { click: () => box.replaceWith(editor(memory, app)) } }, "Edit")
    : null;
  const box = make("div", { class: "memory-text" }, whole, edit);
  return box;
}

/** A field with the text, to be saved if nobody else changed the memory meanwhile. */
function editor(memory, app) {
  const field = make("textarea", { value: memory.text, dir: "auto", spellcheck: true, rows: 18, "aria-label": "Text of the memory" });
  const told = make("div", { "aria-live": "polite" });
  const back = () => box.replaceWith(memoryText(memory, null, app));
  const save = async (digest) => {
    try {
      const headers = { "If-Match": `"${digest}"` };
      const saved = await ask("PUT", memoryPath(memory.file), { body: { text: field.value }, headers });
      box.replaceWith(memoryText({ ...memory, text: field.value, ...saved }, null, app));
    } catch (problem) {
      if (problem.status === 409) told.replaceChildren(conflict(problem.problem, field, save));
      else told.replaceChildren(written("p", problem.message, { class: "problem", role: "alert" }));
    }
  };
  const box = make("div", { class: "editor" }, field,
    make("div", { class: "buttons" },
      make("button", { type: "button", class: "primary", on: { click: () => save(memory.digest) } }, "Save"),
      make("button", { type: "button", on: { click: back } }, "Leave it as it was")),
    told);
  return box;
}

/** Somebody changed the memory meanwhile: theirs is shown beside ours, and one of both is kept. */
function conflict(theirs, field, save) {
  return make("div", { class: "conflict", role: "alert" },
    make("p", {}, "Somebody changed this memory meanwhile; nothing was saved. Above is your text, below is what the file holds now."),
    written("div", theirs.text, { class: "passage" }),
    make("div", { class: "buttons" },
      make("button", { type: "button", on: { click: () => save(theirs.digest) } }, "Save mine over it"),
      make("button", { type: "button", on: { click: () => { field.value = theirs.text; } } }, "Take what the file holds")));
}

/** A list of memories, the last changed first, that goes on with a button. */
function memoryList(chosen, app) {
  const list = make("ol", { class: "results memories", "aria-label": "Memories" });
  roving(list, "button");
  const told = make("p", { class: "quiet", role: "status" });
  const more = async () => {
    told.textContent = "Reading …";
    try {
      const asked = { limit: 50, offset: list.childElementCount, ...chosen };
      const { memories, count } = await ask("GET", `/v1/memories?${new URLSearchParams(asked)}`);
      list.append(...memories.map((one) => memoryRow(one, app)));
      const left = memories.length ? count - list.childElementCount : 0;
      if (left > 0) {
        told.replaceChildren(make("button", { type: "button", on: { click: more } }, `${left} more`));
      } else told.textContent = list.childElementCount ? "" : "There are none.";
    } catch (problem) {
      told.replaceChildren(written("span", problem.message, { class: "problem" }));
    }
  };
  more();
  return make("div", {}, list, told);
}

function memoryRow(one, app) {
  const changed = new Date(1000 * one.timestamp).toISOString().slice(0, 10);
  return make("li", {}, make("button", { type: "button", class: "row listed", on: { click: () => openMemory(one.file, app) } },
    written("span", shortName(one.file), { class: "name" }),
    make("span", { class: "score" }, changed),
    make("span", { class: "where" }, make("bdi", {}, one.file), written("span", one.type, { class: "chip" }))));
}

const TYPES = ["page", "decision", "preference", "finding", "session", "note"];

/** Memories of one type, chosen above them. */
function byType(app) {
  const box = make("div", {});
  const show = () => box.replaceChildren(memoryList({ type: select.value }, app));
  const select = make("select", { on: { change: show } }, TYPES.map((type) => make("option", { value: type }, type)));
  show();
  return make("div", {}, make("label", { class: "option" }, "Type", select), box);
}

/** What lint has to say of the root; nothing is written. */
function lintOf() {
  const box = make("div", { role: "status" }, make("p", { class: "quiet" }, "Reading …"));
  ask("POST", "/v1/process", { body: { mode: "lint" } }).then(
    (found) => box.replaceChildren(
      make("ul", { class: "lint" }, found.summary.map((sentence) => written("li", sentence))),
      warningsOf(found) ?? ""),
    (problem) => box.replaceChildren(written("p", problem.message, { class: "problem" })));
  return box;
}
