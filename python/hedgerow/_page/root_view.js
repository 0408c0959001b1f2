// A recall from a memory root.

/** All that a recall answered. */
function rootAnswer(answer, app) {
  const parts = answer.results.map((one) => partsOfMemory(one.scoreBreakdown));
  const spans = spanOf(parts);
  const there = new Set(parts.flat().map(({ kind }) => kind));
  const kinds = ROOT_PARTS.filter(([, kind]) => there.has(kind)).map(([, kind, label]) => [kind, label]);
  const rows = answer.results.map((one, at) => recalledRow(one, at, { parts: parts[at], spans, app }));
  const list = make("ol", { class: "results memories", "aria-label": "Memories" }, rows);
  roving(list, "button");
  const found = rows.length ? [legend(kinds), list] : make("div", { class: "nothing" },
    make("p", { class: "big" }, "No memories"),
    make("p", {}, "No memory matches the query and the filters."));
  const told = answer.trace
    ? make("div", { class: "told" }, droppedWords(answer.trace), ladderOf(answer.trace), stagesOf(answer.trace))
    : null;
  return [warningsOf(answer), found, leftOut(answer.leftOut), told];
}

const LEFT_OUT = { not_yet_valid: "not valid yet", filtered: "by type, tag or date" };

/** How many memories match but are no results, by reason. */
function leftOut(counts = {}) {
  const reasons = Object.entries(counts).map(([why, count]) => `${count.toLocaleString("en")} ${LEFT_OUT[why] ?? why}`);
  return reasons.length ? make("p", { class: "quiet left-out" }, `Filtered out: ${reasons.join(", ")}.`) : null;
}

/** The title of a result: of its front matter or of another answer, else the name of its file. */
function titleOf({ provenance: { file, metadata } }) {
  const { title } = metadata;
  return typeof title === "string" && title.trim() !== "" ? title : titleOfFile(file);
}

/** The snippet of a result, without the mark of a heading and without the title again. */
function snippetOf(one) {
  const text = one.snippet.replace(/^#{1,6} /, "");
  const title = `${titleOf(one)} `;
  return text !== one.snippet && text.startsWith(title) ? text.slice(title.length) : text;
}

/** Learn the titles of results without one in their front matter. */
async function learnMissingTitles(answer, signal) {
  const unknown = answer.results.filter(({ provenance: { file, metadata } }) => !metadata.title && !TITLES.has(file));
  if (unknown.length === 0) return;
  const { memories } = await ask("GET", `/v1/memories?${new URLSearchParams({ limit: MOST_LISTED })}`, { signal });
  learnTitles(memories.map(({ file, title }) => [file, title]));
  // The name of the file for the rest, so that the next search does not ask again.
  for (const { provenance: { file } } of unknown) if (!TITLES.has(file)) TITLES.set(file, shortName(file));
}

const MOST_LISTED = 1_000; // The most memories in one answer of the server.

function linesOf({ file, lineStart, lineEnd }) {
  return `${file}:${lineStart}–${lineEnd}`;
}

function recalledRow(one, at, { parts, spans, app }) {
  const { type } = one.provenance.metadata;
  const open = () => openMemory(one.provenance.file, app, { ...one, number: at + 1 });
  const button = make("button", { type: "button", class: "row memory", data: { file: one.provenance.file }, on: { click: open } },
    make("span", { class: "rank" }, `${at + 1}`),
    written("span", titleOf(one), { class: "name" }),
    make("span", { class: "score" }, fixed(one.score, 2)),
    make("span", { class: "where" },
      make("bdi", {}, linesOf(one.provenance)),
      typeof type === "string" ? written("span", type, { class: "chip" }) : null),
    stateLine(one.validity),
    written("span", snippetOf(one), { class: "snippet" }),
    bar(parts, spans));
  return make("li", {}, button);
}

function droppedWords(trace) {
  const dropped = trace.notSearchedFor ?? [];
  return section("Words",
    make("p", { class: "executed" }, "Searched for ", written("code", trace.matchQuery || "nothing: no word is left")),
    dropped.length ? make("ul", { class: "words" }, dropped.map((word) => make("li", { class: "dropped" },
      written("span", word, { class: "word" }), make("span", { class: "fate" }, "not searched for")))) : null);
}

/** A time with the offset of this browser's time zone, so that "yesterday" is the reader's. */
function localTime(time) {
  const offset = -time.getTimezoneOffset();
  const local = new Date(time.getTime() + 60_000 * offset).toISOString().slice(0, 19);
  const digits = (number) => String(Math.floor(number)).padStart(2, "0");
  return `${local}${offset < 0 ? "-" : "+"}${digits(Math.abs(offset) / 60)}:${digits(Math.abs(offset) % 60)}`;
}

/** The options of a recall, as fields of a form; its filters are opened on request. */
function rootOptions() {
  const count = make("span", {});
  const filters = make("details", { class: "filters" },
    make("summary", {}, "Filters", count),
    make("div", { class: "options" },
      choice("types", "Type", TYPE_CHOICES),
      option("Tags", { type: "text", name: "tags", autocomplete: "off", spellcheck: false, placeholder: "garden, hedge", size: 14 }),
      option("After", { type: "date", name: "after" }),
      option("Before", { type: "date", name: "before" }),
      option("Superseded, retracted and expired too", { type: "checkbox", name: "include_superseded" })));
  const show = () => {
    const set = [...filters.querySelectorAll("[name]")].filter((field) => valueOf(field) !== "").length;
    count.textContent = set ? ` (${set})` : "";
  };
  queueMicrotask(() => {
    filters.closest("form").addEventListener("change", show);
    filters.closest("form").addEventListener("filled", show);
  });
  return [
    choice("limit", "Results", [["10", "10"], ["5", "5"], ["25", "25"], ["100", "100"]]),
    choice("depth", "Depth", [["normal", "normal"], ["shallow", "shallow"], ["deep", "deep"]]),
    filters,
  ];
}
