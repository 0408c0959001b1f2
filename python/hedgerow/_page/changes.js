// Changes to a memory where the server allows them: edit, supersede, retract, restore.

/** The buttons for the changes that apply to a memory in its state. */
function changeButtons(box, memory, app) {
  const button = (label, form) => make("button", { type: "button", on: { click: () => {
    const made = form(memory, app, () => showText(box, memory, app));
    box.replaceChildren(made);
    made.querySelector("textarea, input")?.focus();
  } } }, label);
  const { why } = memory.validity ?? {};
  return [
    button("Edit", editForm),
    why ? null : button("Supersede", supersedeForm),
    why ? null : button("Retract", retractForm),
    ["retracted", "superseded"].includes(why) ? restoreButton(memory, app) : null,
  ];
}

/** A form with fields, a button that carries out `save`, and Cancel. `save` gets the memory it is based on. */
function changeForm({ label, fields, action, memory, save, cancel, theirs = null }) {
  const status = make("div", { "aria-live": "polite" });
  const form = make("form", { class: "editor", "aria-label": label }, fields,
    make("div", { class: "buttons" },
      make("button", { type: "submit", class: "primary" }, action),
      make("button", { type: "button", on: { click: cancel } }, "Cancel")),
    status);
  const run = (base) => attempt(status, () => save(base), (present) => conflict(present, run, theirs));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(memory);
  });
  return form;
}

/** Run a change. If the file has changed since it was read, show what `onConflict` makes of it. */
async function attempt(status, change, onConflict) {
  try {
    await change();
  } catch (problem) {
    const isConflict = problem.problem?.code === "file_changed" && problem.problem.text !== undefined;
    status.replaceChildren(isConflict
      ? onConflict(problem.problem)
      : written("p", problem.message, { class: "problem", role: "alert" }));
  }
}

/** The present text of a file that changed since it was read. `theirs` takes it over, if given. */
function conflict(present, run, theirs) {
  return make("div", { class: "conflict", role: "alert" },
    make("p", {}, "This memory changed since you read it, so nothing was saved. The file now has this text:"),
    written("div", present.text, { class: "passage" }),
    make("div", { class: "buttons" },
      make("button", { type: "button", on: { click: () => run(present) } }, theirs ? "Overwrite" : "Continue"),
      theirs ? make("button", { type: "button", on: { click: () => theirs(present.text) } }, "Use this text") : null));
}

function changed(file, app) {
  openMemory(file, app);
  app.refresh();
}

function editForm(memory, app, cancel) {
  const field = make("textarea", { value: memory.text, dir: "auto", spellcheck: true, rows: 18, "aria-label": "Text of the memory" });
  const save = async ({ digest }) => {
    await ask("PUT", memoryPath(memory.file), { body: { text: field.value }, headers: { "If-Match": `"${digest}"` } });
    changed(memory.file, app);
  };
  const theirs = (text) => { field.value = text; };
  return changeForm({ label: "Edit", fields: [field], action: "Save", memory, save, cancel, theirs });
}

/** Send a mark of a memory. Fail as an edit does if the memory is not as it was in `base`. */
async function mark(route, body, base, app) {
  const present = await ask("GET", memoryPath(base.file));
  if (present.digest !== base.digest) {
    throw new Problem(409, { code: "file_changed", detail: "This memory changed since you read it.", ...present });
  }
  const done = await ask("POST", `/v1/${route}`, { body });
  changed(done.file, app);
}

function labelled(label, field, isRequired) {
  return make("label", { class: "field" }, make("span", {}, isRequired ? label : `${label} (optional)`), field);
}

function supersedeForm(memory, app, cancel) {
  const text = make("textarea", { dir: "auto", spellcheck: true, rows: 8, required: true });
  const title = make("input", { type: "text", dir: "auto", autocomplete: "off" });
  const save = (base) => {
    const given = title.value.trim() ? { title: title.value.trim() } : {};
    return mark("supersede", { old: memory.file, text: text.value, ...given }, base, app);
  };
  const fields = [labelled("What is true now", text, true), labelled("Title", title, false)];
  return changeForm({ label: "Supersede", fields, action: "Continue", memory, save, cancel });
}

function retractForm(memory, app, cancel) {
  const reason = make("input", { type: "text", dir: "auto", autocomplete: "off", required: true });
  const save = (base) => mark("retract", { key: memory.file, reason: reason.value.trim() }, base, app);
  return changeForm({ label: "Retract", fields: [labelled("Reason", reason, true)], action: "Continue", memory, save, cancel });
}

/** A button that removes the marks of a memory at once: it can be marked again. */
function restoreButton(memory, app) {
  const status = make("div", { "aria-live": "polite", class: "whole-line" });
  const run = (base) => attempt(status, () => mark("restore", { key: memory.file }, base, app), (present) => conflict(present, run, null));
  return [make("button", { type: "button", on: { click: () => run(memory) } }, "Restore"), status];
}
