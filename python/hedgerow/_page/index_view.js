// A search of an index.

/** All that a search of an index answered. */
function indexAnswer(answer, app) {
  const open = (at) => openHit(answer.results[at]);
  const found = answer.results.length
    ? legsAndResults(answer, open)
    : nothingFound(answer);
  return [
    warningsOf(answer),
    found,
    make("div", { class: "told" },
      answer.explanation ? wordsOf(answer.explanation, answer.trace) : null,
      ladderOf(answer.trace),
      stagesOf(answer.trace),
      app.live ? whyNotForm(app) : answer.whyNot ? section("Why not", whyNotTold(answer.whyNot)) : null),
  ];
}

function nothingFound(answer) {
  const searched = answer.trace.matchQuery !== "";
  const past = answer.offset > 0 && answer.trace.fusedCount > 0;
  const reason = past
    ? `There are ${plural(answer.trace.fusedCount, "result")}, none from number ${answer.offset + 1} on.`
    : searched
      ? `Nothing in ${plural(answer.chunks, "chunk")} matches, and no retry found anything.`
      : "No word of the query is left to search for. Put words in quotes to search for them as they stand.";
  return make("div", { class: "nothing" }, make("p", { class: "big" }, "No results"), make("p", {}, reason));
}

/** A form that explains why a chunk is not among the results. */
function whyNotForm(app) {
  const field = make("input", { type: "text", id: "why-not", autocomplete: "off", spellcheck: false });
  const told = make("div", { "aria-live": "polite" });
  const form = make("form", { class: "inline" },
    make("label", { for: "why-not" }, "Id of a chunk"), field,
    make("button", { type: "submit" }, "Ask"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const id = field.value.trim();
    if (id === "") return;
    const { explain: _, ...body } = app.request;
    try {
      told.replaceChildren(whyNotTold(await ask("POST", "/v1/why_not", { body: { ...body, id } })));
    } catch (problem) {
      told.replaceChildren(written("p", problem.message, { class: "problem", role: "alert" }));
    }
  });
  return section("Why is a chunk missing?", form, told);
}

function whyNotTold(why) {
  return make("div", {},
    make("p", {}, written("strong", why.id)),
    whyNotSentences(why).map((sentence) => written("p", sentence)),
    why.explanation ? chunkLedger(why.explanation) : null);
}

/** The options of a search of an index, as fields of a form. */
function indexOptions() {
  return [
    choice("mode", "Mode", [["auto", "auto"], ["bm25", "keywords"], ["semantic", "meaning"], ["hybrid", "both"]]),
    choice("limit", "Results", [["10", "10"], ["25", "25"], ["50", "50"], ["100", "100"]]),
    choice("group_by", "Group", [["", "chunks"], ["path", "by path"]]),
  ];
}

/** A labelled field of a form. */
function option(label, properties) {
  return make("label", { class: "option" }, label, make("input", properties));
}

function choice(name, label, values) {
  const options = values.map(([value, shown]) => make("option", { value }, shown));
  return make("label", { class: "option" }, label, make("select", { name }, options));
}
