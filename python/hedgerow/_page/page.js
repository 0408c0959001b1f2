// The page: as a report with its data inside, or asking the server it came from.

const THEME = "hedgerow-theme";

function themeSwitch() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const button = make("button", { type: "button", class: "theme" });
  const say = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    say();
  });
  dark.addEventListener("change", say);
  say();
  return button;
}

// Where nothing may be kept, as in some files, the choice lasts as long as the page.
function remember(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch { /* the choice is not kept */ }
}

function recallTheme() {
  try {
    const theme = localStorage.getItem(THEME);
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* as above */ }
}

function masthead(about, ...more) {
  const reads = about.report ? "report" : about.edit ? "may be edited" : "read only";
  return make("header", { class: "masthead" },
    make("p", { class: "brand" }, make("b", {}, "hedgerow"), written("span", about.name, { class: "of" })),
    make("p", { class: "state" }, `${about.kind === "root" ? "memory root" : "index"} · ${reads}`),
    themeSwitch(), more);
}

function answerOf(answer, app) {
  return app.about.kind === "root" ? rootAnswer(answer, app) : indexAnswer(answer, app);
}

function summaryOf(answer) {
  const count = answer.results.length;
  const times = Object.values(answer.trace?.timings ?? {}).reduce((sum, time) => sum + time, 0);
  const how = answer.trace ? ` · ${answer.trace.mode} · ${milliseconds(times)}` : "";
  return plural(count, "result") + how;
}

/** A report: the query as its title, and what it found. */
function showReport(page, given) {
  const app = { ...given, live: false, about: { ...given.about, report: true } };
  const { query } = given.answer;
  document.title = `${query} – hedgerow`;
  page.append(masthead(app.about), make("main", {},
    make("div", { class: "asked" }, written("h1", query), make("p", { class: "summary" }, summaryOf(given.answer))),
    answerOf(given.answer, app)),
  make("footer", {}, `Made by hedgerow ${given.about.hedgerow}. This file asks nobody for anything.`));
}

/** The page of a server. */
async function showServer(page) {
  takeToken();
  const about = await ask("GET", "/v1/about");
  const app = { about, live: true };
  document.title = `${about.name} – hedgerow`;
  const search = searchView(app);
  const views = about.kind === "root"
    ? [["Recall", () => search], ["Recent", () => memoryList({}, app)], ["By type", () => byType(app)], ["Superseded", () => memoryList({ superseded: true }, app)], ["Lint", lintOf]]
    : null;
  page.replaceChildren(masthead(about),
    make("main", {}, views ? tabs(views) : search),
    make("footer", {}, `hedgerow ${about.hedgerow} · / searches · ↑ ↓ go through the results · Enter opens, Escape closes`));
  addEventListener("keydown", toTheSearchBox);
  search.querySelector("input[type=search]").focus();
}

function toTheSearchBox(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  const field = document.querySelector("input[type=search]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || !field) return;
  event.preventDefault();
  field.focus();
  field.select();
}

/** The form, and below it the last answer. */
function searchView(app) {
  const isRoot = app.about.kind === "root";
  const label = isRoot ? "What to recall" : "What to search for";
  const field = make("input", { type: "search", name: "query", autocomplete: "off", spellcheck: false, dir: "auto", "aria-label": label, placeholder: label });
  const form = make("form", { class: "search", role: "search" }, field,
    make("button", { type: "submit", class: "primary" }, isRoot ? "Recall" : "Search"),
    make("div", { class: "options" }, isRoot ? rootOptions() : indexOptions()));
  const told = make("p", { class: "summary", role: "status" });
  const answered = make("div", { class: "answer" }, make("div", { class: "nothing" }, make("p", {}, "Results come with each part of their score, and where it is from.")));
  const run = runner(app, form, told, answered);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.pushState(null, "", `#${new URLSearchParams({ q: field.value })}`);
    run();
  });
  form.addEventListener("change", (event) => event.target !== field && field.value.trim() && run());
  const fromAddress = () => {
    const query = new URLSearchParams(location.hash.slice(1)).get("q");
    if (query) { field.value = query; run(); }
  };
  addEventListener("popstate", fromAddress);
  field.addEventListener("keydown", (event) => {
    const first = answered.querySelector(".results button");
    if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
  });
  queueMicrotask(fromAddress);
  return make("div", {}, form, told, answered);
}

/** Searches as the form says; what is slower than the next search is given up. */
function runner(app, form, told, answered) {
  let running = new AbortController();
  return async () => {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const request = requestOf(new FormData(form));
    const isRoot = app.about.kind === "root";
    if (isRoot) request.question_date = localTime(new Date());
    if (request.query.trim() === "") return;
    told.textContent = "Searching …";
    try {
      const answer = await ask("POST", isRoot ? "/v1/recall" : "/v1/search", { body: request, signal });
      app.request = request;
      told.textContent = summaryOf(answer);
      answered.replaceChildren(...answerOf(answer, app).flat().filter(Boolean));
    } catch (problem) {
      if (problem.name === "AbortError") return;
      told.textContent = "";
      answered.replaceChildren(written("p", problem.message, { class: "problem", role: "alert" }));
    }
  };
}

function requestOf(fields) {
  const request = { explain: true };
  for (const [name, value] of fields) {
    if (name === "limit") request.limit = Number(value);
    else if (value !== "") request[name] = value;
  }
  return { query: "", ...request };
}

function tabs(views) {
  const panel = make("div", { role: "tabpanel", tabIndex: -1, id: "panel" });
  const buttons = views.map(([title, view]) => {
    const button = make("button", { type: "button", role: "tab", id: `tab-${title.toLowerCase().replace(" ", "-")}`, "aria-controls": "panel" }, title);
    button.addEventListener("click", () => choose(button, view));
    button.addEventListener("focus", () => choose(button, view));
    return button;
  });
  const list = make("div", { role: "tablist", class: "tabs", "aria-label": "Views" }, buttons);
  const choose = (button, view) => {
    if (button.getAttribute("aria-selected") === "true") return;
    for (const one of buttons) {
      one.setAttribute("aria-selected", String(one === button));
      one.tabIndex = one === button ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", button.id);
    panel.replaceChildren(view());
  };
  roving(list, "button", ["ArrowLeft", "ArrowRight"]);
  choose(buttons[0], views[0][1]);
  return make("div", {}, list, panel);
}

async function start() {
  recallTheme();
  const page = document.getElementById("page");
  const given = JSON.parse(document.getElementById("data").textContent);
  if (given !== null) return showReport(page, given);
  try {
    await showServer(page);
  } catch (problem) {
    page.replaceChildren(written("p", problem.message, { class: "problem", role: "alert" }));
  }
}

start();
