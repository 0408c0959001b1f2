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

function masthead(about) {
  const reads = about.report ? "report" : about.edit ? "can be edited" : "read only";
  const scope = Object.entries(about.scope ?? {}).map(([key, id]) => `${key}=${id}`).join(", ");
  return make("header", { class: "masthead" },
    make("p", { class: "brand" }, make("b", {}, "hedgerow"), written("span", about.name, { class: "of" })),
    make("p", { class: "state" }, `${about.kind === "root" ? "memory root" : "index"} · ${reads}`,
      scope ? [" · only ", written("bdi", scope)] : null),
    themeSwitch());
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
  for (const { titles } of Object.values(given.links ?? {})) learnTitles(Object.entries(titles ?? {}));
  const { query } = given.answer;
  document.title = `${query} – hedgerow`;
  page.append(masthead(app.about), make("main", {},
    make("div", { class: "asked" }, written("h1", query), make("p", { class: "summary" }, summaryOf(given.answer))),
    answerOf(given.answer, app)),
  make("footer", {}, `Made by hedgerow ${given.about.hedgerow}. This file loads nothing from elsewhere.`));
}

/** The page of a server. */
async function showServer(page) {
  takeToken();
  const about = await ask("GET", "/v1/about");
  const app = { about, live: true };
  document.title = `${about.name} – hedgerow`;
  const search = searchView(app);
  app.refresh = () => document.querySelector("#panel > *")?.refresh?.();
  const views = about.kind === "root"
    ? [["Recall", () => search], ["Memories", () => memoriesView(app)], ["Lint", lintView]]
    : null;
  page.replaceChildren(masthead(about),
    make("main", {}, views ? tabs(views) : search),
    make("footer", {}, `hedgerow ${about.hedgerow} · / searches · ↑ ↓ go through the results · Enter opens, Escape closes`));
  addEventListener("keydown", toTheSearchBox);
  search.querySelector("input[type=search]").focus();
  const memory = new URLSearchParams(location.hash.slice(1)).get("memory");
  if (memory && about.kind === "root") openMemory(memory, app);
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
  const status = make("p", { class: "summary", role: "status" });
  const answered = make("div", { class: "answer" });
  const start = isRoot
    ? () => section("Recent memories", memoryList({}, app, { label: "Recent memories", limit: RECENT }))
    : () => make("div", { class: "nothing" }, make("p", {}, "Each result shows the parts of its score."));
  const search = runner(app, form, status, answered);
  const run = () => {
    if (field.value.trim() !== "") return search();
    status.textContent = "";
    return answered.replaceChildren(start());
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.pushState(null, "", addressOf(form));
    run();
  });
  form.addEventListener("change", (event) => {
    if (event.target === field || field.value.trim() === "") return;
    history.replaceState(null, "", addressOf(form));
    run();
  });
  const fromAddress = () => {
    fillForm(form, new URLSearchParams(location.hash.slice(1)));
    run();
  };
  addEventListener("popstate", fromAddress);
  field.addEventListener("keydown", (event) => {
    const first = answered.querySelector(".results button");
    if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
  });
  queueMicrotask(fromAddress);
  const view = make("div", {}, form, status, answered);
  view.refresh = run;
  return view;
}

const RECENT = 8;
const fieldsOf = (form) => [...form.elements].filter(({ name }) => name);
const valueOf = (field) => (field.type === "checkbox" ? (field.checked ? "true" : "") : field.value);

/** The address of the search in a form: the query, and options other than the first of each. */
function addressOf(form) {
  const initial = (field) => field.options?.[0].value ?? "";
  const given = fieldsOf(form).filter((field) => field.name !== "query" && valueOf(field) !== initial(field));
  const query = form.elements.query.value;
  return `#${new URLSearchParams([["q", query], ...given.map((field) => [field.name, valueOf(field)])])}`;
}

/** Fill a form from an address. A value that a choice does not have is ignored. */
function fillForm(form, address) {
  for (const field of fieldsOf(form)) {
    const given = address.get(field.name === "query" ? "q" : field.name) ?? field.options?.[0].value ?? "";
    if (field.type === "checkbox") field.checked = given === "true";
    else field.value = given;
    if (field.options && field.selectedIndex < 0) field.selectedIndex = 0;
  }
  form.dispatchEvent(new Event("filled"));
}

/** Return a function that searches as the form says. A new search cancels the one before. */
function runner(app, form, status, answered) {
  let running = new AbortController();
  return async () => {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const request = requestOf(form);
    const isRoot = app.about.kind === "root";
    if (isRoot) request.question_date = localTime(new Date());
    status.textContent = "Searching …";
    try {
      const answer = await ask("POST", isRoot ? "/v1/recall" : "/v1/search", { body: request, signal });
      if (isRoot) await learnMissingTitles(answer, signal);
      app.request = request;
      status.textContent = summaryOf(answer);
      answered.replaceChildren(...answerOf(answer, app).flat().filter(Boolean));
    } catch (problem) {
      if (problem.name === "AbortError") return;
      status.textContent = "";
      answered.replaceChildren(written("p", problem.message, { class: "problem", role: "alert" }));
    }
  };
}

const ARGUMENTS = {
  limit: Number,
  types: (type) => [type],
  tags: (tags) => tags.split(",").map((tag) => tag.trim()).filter(Boolean),
  include_superseded: () => true,
};

/** The body of a request: the fields of a form that are not empty, as the server wants them. */
function requestOf(form) {
  const given = fieldsOf(form).map((field) => [field.name, valueOf(field)]).filter(([, value]) => value !== "");
  return Object.fromEntries([["explain", true], ...given.map(([name, value]) => [name, ARGUMENTS[name]?.(value) ?? value])]);
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
