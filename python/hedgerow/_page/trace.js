// What was done: the words, the tries, the stages and their times.

/** The words of the query, and what became of each. */
function wordsOf(explanation, trace) {
  const words = explanation.words.map((word) => {
    const became = word.tokens.map(surface).join(" or ");
    const same = became === word.source;
    const told = [word.outcome === "kept" && !same ? became : "", word.detail].filter(Boolean).join(": ");
    return make("li", { class: word.outcome },
      written("span", word.source || '""', { class: "word" }),
      told ? make("span", { class: "fate" }, told) : null);
  });
  const executed = trace.matchQuery || "nothing: no word is left";
  return section("Words",
    make("ul", { class: "words" }, words),
    make("p", { class: "executed" }, "Searched for ", written("code", executed)));
}

function surface(token) {
  if (token.kind === "phrase") return `"${token.text}"`;
  return token.kind === "prefix" ? `${token.text}*` : token.text;
}

/** What one should know before trusting the results. */
function warningsOf(answer) {
  const { errorStage, fellBackToBM25 } = answer.trace ?? {};
  const told = [
    ...(answer.notices ?? []),
    fellBackToBM25 && !errorStage ? "Searched by keywords alone: no vector of the query could be had." : null,
    ...(answer.unreadable ?? []).map((skip) => `Left out: ${skip.path}: ${skip.reason}`),
  ].filter(Boolean);
  return told.length ? make("ul", { class: "warnings" }, told.map((text) => written("li", text))) : null;
}

/** Stages on a time line, with what each did. */
function stagesOf(trace) {
  const ran = (stage) => trace.embedderUsed || !["embed", "vector"].includes(stage);
  const timed = Object.entries(trace.timings).filter(([stage, time]) => ran(stage) && time >= 0.0005);
  const total = timed.reduce((sum, [, time]) => sum + time, 0) || 1;
  let done = 0;
  const rows = timed.map(([stage, time]) => {
    const [x, width] = [(100 * done) / total, (100 * time) / total];
    done += time;
    const piece = draw("rect", { x, y: 0, width: Math.max(width, 0.4), height: 4, class: "stage" });
    const look = { class: "line", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" };
    return make("tr", {},
      make("th", { scope: "row" }, STAGES[stage] ?? stage),
      make("td", { class: "number" }, milliseconds(time)),
      make("td", { class: "span" }, draw("svg", look, piece)),
      written("td", didIn(stage, trace), { class: "how" }));
  });
  return section("Stages",
    make("p", { class: "ways" }, waysOf(trace)),
    make("table", { class: "stages" },
      make("tbody", {}, rows),
      make("tfoot", {}, make("tr", {},
        make("th", { scope: "row" }, "together"),
        make("td", { class: "number" }, milliseconds(total))))));
}

function didIn(stage, trace) {
  return {
    embed: "the query",
    bm25: `${plural(trace.attempts[0]?.hits ?? 0, "hit")} of at most ${trace.candidateK}`,
    ladder: plural(Math.max(0, trace.attempts.length - 1), "retry", "retries"),
    vector: `${plural(trace.vectorCount, "hit")} of at most ${trace.candidateK}`,
    fuse: `${plural(trace.fusedCount, "hit")} in one ranking`,
    reweight: trace.reweight === false ? "switched off" : "by what the question asks for",
    rerank: trace.reranked ? `by ${trace.rerankProvider}` : (NOT_RERANKED[trace.rerankSkippedReason] ?? ""),
  }[stage] ?? "";
}

function waysOf(trace) {
  const ways = [`mode ${trace.mode}`];
  if (trace.profile) ways.push(`profile ${trace.profile}`);
  ways.push(`matching ${trace.matching ?? "spec"}`, `fusion ${trace.fusion ?? "rrf"}`);
  ways.push(trace.neighbors ? "with neighbors" : "without neighbors");
  if (trace.speakers) ways.push("with speakers");
  if (trace.dates) ways.push("with dates");
  if (trace.recency) ways.push(`halved every ${trace.recency}`);
  if (trace.groupBy) ways.push(`grouped by ${trace.groupBy}`);
  if (trace.backend) ways.push(`on ${trace.backend}`);
  if (trace.augmentedQuery) ways.push(`with dates: ${trace.dateHints.join(", ")}`);
  return ways.join(" · ");
}

/** The retry ladder: one try below the other. Nothing where the first one found something. */
function ladderOf(trace) {
  if (trace.attempts.length < 2) return null;
  const tries = trace.attempts.map((attempt) => make("li", { class: attempt.hits ? "found" : "" },
    make("span", { class: "rung" }, RUNGS[attempt.strategy] ?? attempt.strategy),
    written("code", attempt.query),
    make("span", { class: "number" }, plural(attempt.hits, "hit"))));
  return section("Retries", make("ol", { class: "ladder" }, tries));
}
