// Asking the server. The token is in the memory of this tab alone, never in an address.

const TOKEN = "hedgerow-token";

class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

/** Take the token from `#token=...` and remove it from the address bar and the history. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token === null) return;
  sessionStorage.setItem(TOKEN, token);
  given.delete("token");
  const rest = given.toString();
  history.replaceState(null, "", location.pathname + (rest ? `#${rest}` : ""));
}

/** The answer of the server as JSON; a `Problem` for any other than a good one. */
async function ask(method, path, { body, headers = {}, signal } = {}) {
  const response = await sent(method, path, { body, headers, signal });
  if (response.status === 401) {
    await askForToken(sessionStorage.getItem(TOKEN) !== null);
    return ask(method, path, { body, headers, signal });
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, told(response, answer));
  return answer;
}

async function sent(method, path, { body, headers, signal }) {
  const token = sessionStorage.getItem(TOKEN);
  try {
    return await fetch(path, {
      method,
      signal,
      headers: {
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The server does not answer. Is `hedgerow serve` still running?" });
  }
}

function told(response, answer) {
  const wait = response.headers.get("Retry-After");
  if (response.status !== 429 || wait === null) return answer;
  return { ...answer, detail: `The server is busy; try again in ${plural(Number(wait), "second")}.` };
}

/** Ask for the token until one is given. */
function askForToken(refused) {
  return new Promise((resolve) => {
    const field = make("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const form = make("form", {},
      make("h2", {}, "Token"),
      make("p", {}, refused ? "The server does not know this token." : "The server asks for its token.",
        " It was printed, or its file named, when the server started."),
      make("label", { for: "token" }, "Token"), field,
      make("button", { type: "submit", class: "primary" }, "Continue"));
    const dialog = make("dialog", { class: "ask" }, form);
    // Escape, pressed twice, closes any dialog; without a token there is nothing behind this one.
    dialog.addEventListener("close", () => dialog.isConnected && dialog.showModal());
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, field.value.trim());
      dialog.remove();
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** The path of a memory in an address: every part encoded, the slashes kept. */
function memoryPath(file) {
  return `/v1/memories/${file.split("/").map(encodeURIComponent).join("/")}`;
}
