// Lists of the memories of a root.

const PAGE_OF_LIST = 50;

/** A list of memories, the last changed first, with a button that shows more if `limit` is null. */
function memoryList(filters, app, { label = "Memories", limit = null } = {}) {
  const list = make("ol", { class: "results memories", "aria-label": label });
  roving(list, "button");
  const status = make("p", { class: "quiet", role: "status" });
  const more = async () => {
    status.textContent = "Loading …";
    try {
      const request = { limit: limit ?? PAGE_OF_LIST, offset: list.childElementCount, ...filters };
      const { memories, count } = await ask("GET", `/v1/memories?${new URLSearchParams(request)}`);
      learnTitles(memories.map(({ file, title }) => [file, title]));
      list.append(...memories.map((one) => memoryRow(one, app)));
      const left = memories.length && limit === null ? count - list.childElementCount : 0;
      if (left > 0) {
        status.replaceChildren(make("button", { type: "button", on: { click: more } }, `${left.toLocaleString("en")} more`));
      } else status.textContent = list.childElementCount ? "" : "No memories.";
    } catch (problem) {
      status.replaceChildren(written("span", problem.message, { class: "problem" }));
    }
  };
  more();
  return make("div", {}, list, status);
}

function memoryRow(one, app) {
  const changed = new Date(1000 * one.timestamp).toISOString().slice(0, 10);
  return make("li", {}, make("button", { type: "button", class: "row listed", data: { file: one.file }, on: { click: () => openMemory(one.file, app) } },
    written("span", one.title || shortName(one.file), { class: "name" }),
    make("time", { class: "score", dateTime: changed }, changed),
    make("span", { class: "where" }, make("bdi", {}, one.file), written("span", one.type, { class: "chip" })),
    stateLine(one.validity)));
}

/** The states of a memory as a line of its row, if there are any. */
function stateLine(validity) {
  const chips = stateChips(validity);
  return chips.length ? make("span", { class: "row-states" }, chips) : null;
}

const TYPES = ["page", "decision", "preference", "finding", "session", "note"];
const TYPE_CHOICES = [["", "any"], ...TYPES.map((type) => [type, type])];

/** All memories, with filters above them. */
function memoriesView(app) {
  const box = make("div", {});
  const form = make("form", { class: "options", "aria-label": "Filters" },
    choice("type", "Type", TYPE_CHOICES),
    choice("superseded", "State", [["", "any"], ["true", "superseded"]]));
  const show = () => {
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    box.replaceChildren(memoryList(Object.fromEntries(given), app));
  };
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
  const view = make("div", {}, form, box);
  view.refresh = show;
  return view;
}

/** The findings of lint; nothing is written. */
function lintView() {
  const box = make("div", { role: "status" }, make("p", { class: "quiet" }, "Loading …"));
  ask("POST", "/v1/process", { body: { mode: "lint" } }).then(
    (found) => box.replaceChildren(
      make("ul", { class: "lint" }, found.summary.map((sentence) => written("li", sentence))),
      warningsOf(found) ?? ""),
    (problem) => box.replaceChildren(written("p", problem.message, { class: "problem" })));
  return box;
}
