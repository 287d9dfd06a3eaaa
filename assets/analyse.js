// The Analyse page: what is chosen there is a view, kept in the address; each part is asked for by an event.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.analyse) return;

  const PARTS = [
    ...["controls", "filter", "figures", "curves", "slices", "people"],
    ...["search", "questions", "settled", "file"],
  ];
  const FIGURES = ["figures", "curves", "slices", "people"];
  const NAME = "rtv-adjudicator";
  const DOUBLE = 400; // ms within which the same click counts once
  const TYPING = 150; // ms without a key before a search begins

  const linked = new URLSearchParams(location.search);
  const view = {
    run: linked.get("run") || "",
    with: linked.get("with") || "",
    count: linked.get("count") === "all" ? "all" : "settled",
    across: linked.get("across") === "1",
    adjudicators: linked.getAll("adjudicator"),
    where: linked.getAll("where"),
    slices: linked.get("slices") || "",
    first: linked.get("first") || "",
    second: linked.get("second") || "",
    day: linked.get("day") || "",
    behind: linked.get("behind") || "",
    text: linked.get("text") || "",
    answers: linked.get("answers") || "",
  };
  let offset = 0;
  let send = null;
  let turn = 0;
  let openedAt = 0;
  const wanted = {}; // by part, the number of its last request
  const focused = {}; // by part, how to find again what had the focus
  const saved = new Set();
  let stored = false; // whether the saved filters may have changed since the slices were asked for
  let building = false; // whether the fields of one more condition are open

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const part = (name) => document.getElementById(`rtv-analyse-${name}`);
  const token = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");
  const narrow = () => matchMedia("(max-width: 1000px)").matches;

  function ask(name, more = {}) {
    if (!send) return;
    turn += 1;
    wanted[name] = turn;
    const host = part(name);
    if (host) {
      host.dataset.busy = "1";
      host.setAttribute("aria-busy", "true");
      const element = host.contains(document.activeElement) && document.activeElement;
      focused[name] = element ? pathOf(element) : "";
    }
    const mine = turn;
    send(name, () => ({ ...view, offset, turn: mine, ...more }));
  }

  function askFigures() {
    FIGURES.forEach((name) => ask(name));
    ask("questions");
  }

  // A selector that finds an element again after its part was drawn anew.
  function pathOf(element) {
    const names = Object.entries(element.dataset).map(([name, value]) => {
      const dashed = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return `[data-${dashed}="${CSS.escape(value)}"]`;
    });
    const item = element.closest("li[data-trace]");
    const within = item ? `li[data-trace="${CSS.escape(item.dataset.trace)}"] ` : "";
    return names.length ? within + names.join("") : "";
  }

  // The address -----------------------------------------------------------------------------------------------

  function address() {
    if (!rtv.page || rtv.page() !== "analyse") return;
    const parameters = new URLSearchParams({ page: "analyse" });
    for (const name of ["run", "with", "slices", "first", "second", "day", "behind", "text", "answers"])
      if (view[name]) parameters.set(name, view[name]);
    if (view.count === "all") parameters.set("count", "all");
    if (view.across) parameters.set("across", "1");
    view.adjudicators.forEach((name) => parameters.append("adjudicator", name));
    view.where.forEach((condition) => parameters.append("where", condition));
    if (linked.has("__theme")) parameters.set("__theme", linked.get("__theme"));
    const next = `${location.pathname}?${parameters}`;
    if (next !== location.pathname + location.search) history.replaceState(null, "", next);
  }

  // After a part was drawn ------------------------------------------------------------------------------------

  function drawn(name) {
    const host = part(name);
    const made = host && $(".rtv-drawn", host);
    if (name === "settled") return settled(host);
    if (name === "search") return search();
    if (!made) return;
    if (name === "filter" && building && $(".rtv-builder", host)) $(".rtv-builder", host).open = true;
    if (Number(made.dataset.turn) >= (wanted[name] || 0) || made.dataset.turn === "0") {
      delete host.dataset.busy;
      host.removeAttribute("aria-busy");
      const again = focused[name] && $(focused[name], host);
      focused[name] = "";
      if (again) again.focus({ preventScroll: true });
    }
    if (name === "controls") takeControls(host);
    if (name === "filter") takeFilter(host, made);
    if (name === "people") fillName();
    if (name === "questions") search();
    if (name === "file") saveFile(made);
    pressed();
  }

  function takeControls(host) {
    const run = $("select[data-view=run]", host);
    if (run && !view.run) view.run = run.value;
    address();
  }

  // The server reads what is asked of the filter; the conditions that it answers with are those of the view.
  function takeFilter(host, made) {
    const bar = $("[data-where]", host);
    if (!bar || Number(made.dataset.turn) < (wanted.filter || 0)) return;
    if (stored) ask("slices"); // they show the saved filters, and what was asked of these is done now
    stored = false;
    const where = JSON.parse(bar.dataset.where);
    if (JSON.stringify(where) === JSON.stringify(view.where)) return;
    view.where = where;
    offset = 0;
    address();
    askFigures();
  }

  function filter(what, value) {
    if (what === "clear" || what === "apply") building = false;
    stored ||= ["save", "delete", "undo"].includes(what);
    ask("filter", { do: what, value });
  }

  function addCondition() {
    const [column, sign, value] = ["column", "sign", "value"].map((name) => $(`[data-condition=${name}]`));
    if (!value.value.trim()) return value.focus();
    filter("add", `${column.value} ${sign.value} ${value.value}`);
  }

  // The search fields are drawn once and keep what is typed; only what a link or a figure sets is put in.
  function search() {
    const root = part("search");
    if (!root) return;
    for (const field of $$("[data-view]", root)) {
      const value = view[field.dataset.view] || "";
      if (document.activeElement === field) continue;
      if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) field.value = "";
      else if (field.value !== value) field.value = value;
    }
  }

  function pressed() {
    $$("#rtv-analyse-columns [data-behind]").forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.behind === view.behind)),
    );
  }

  // Files -----------------------------------------------------------------------------------------------------

  function saveFile(made) {
    const file = $("[data-save]", made);
    if (!file || saved.has(made.dataset.turn)) return;
    saved.add(made.dataset.turn);
    const bytes = Uint8Array.from(atob(file.dataset.base64), (letter) => letter.charCodeAt(0));
    save(new Blob([bytes], { type: file.dataset.type }), file.dataset.save);
  }

  function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  // A plot's attributes give its look on paper; the page's own colours lie in the style sheet only.
  async function savePlot(button, kind) {
    const figure = button.closest(".rtv-figure");
    const copy = $("svg.rtv-plot", figure).cloneNode(true);
    const [, , width, height] = copy.getAttribute("viewBox").split(" ").map(Number);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const text = new XMLSerializer().serializeToString(copy);
    const blob = new Blob([text], { type: "image/svg+xml" });
    const name = `${view.run} ${figure.dataset.figure}`.replace(/[^\p{L}\p{N} .()_-]/gu, "-").trim();
    if (kind === "svg") return save(blob, `${name}.svg`);
    const image = new Image();
    image.src = URL.createObjectURL(blob);
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 3 * width;
    canvas.height = 3 * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(image.src);
    canvas.toBlob((png) => save(png, `${name}.png`), "image/png");
  }

  // Adjudication ----------------------------------------------------------------------------------------------

  const nameField = () => $("[data-adjudicating]");

  function fillName() {
    const field = nameField();
    if (field && !field.value) field.value = localStorage.getItem(NAME) || "";
  }

  let last = { what: "", at: 0 };
  function twice(what) {
    const now = performance.now();
    const same = last.what === what && now - last.at < DOUBLE;
    last = { what, at: now };
    return same;
  }

  function settle(button) {
    const item = button.closest("li[data-trace]");
    const gold = $("[data-gold-choice]", item);
    const evidence = $("[data-evidence-choice]", item).value;
    const label = button.dataset.adjudicate;
    const needsGold = label === "listed" || label === "variant";
    const chosen = needsGold && gold && gold.value !== "" ? Number(gold.value) : null;
    if (twice([item.dataset.trace, item.dataset.answer, label, evidence, chosen].join(" "))) return;
    const name = (nameField() && nameField().value.trim()) || "";
    if (!name && nameField()) nameField().focus();
    const said = { trace: item.dataset.trace, answer: item.dataset.answer, label, evidence, gold: chosen };
    ask("settle", { ...said, name, token: token() });
  }

  function settled(host) {
    const line = host && $("[data-settled]", host);
    if (!line || line.dataset.seen) return;
    line.dataset.seen = "1";
    const name = (nameField() && nameField().value.trim()) || "";
    if (name && !view.adjudicators.includes(name)) view.adjudicators = [...view.adjudicators, name].sort();
    address();
    ask("controls");
    askFigures();
  }

  // Listeners -------------------------------------------------------------------------------------------------

  function change(field) {
    const name = field.dataset.view;
    view[name] = field.type === "checkbox" ? field.checked : field.value;
    offset = 0;
    if (name === "run") view.behind = "";
    if (name === "run") view.first = view.second = "";
    if (name === "run" && view.with === view.run) view.with = "";
    if (name === "with" && /^(only|f1):/.test(view.behind)) view.behind = "";
    address();
    if (["text", "answers", "behind"].includes(name)) return ask("questions");
    if (name === "slices") return ask("slices");
    if (["first", "second", "day"].includes(name)) return ask("people");
    if (name === "run") ask("controls");
    if (name === "run") ask("filter");
    askFigures();
  }

  function show(behind) {
    view.behind = behind;
    offset = 0;
    search();
    address();
    ask("questions");
    if (narrow()) part("right").scrollIntoView({ block: "start" });
  }

  document.addEventListener("click", (event) => {
    const hit = (selector) => event.target.closest(`#rtv-analyse ${selector}`);
    let found;
    if ((found = hit("button[data-behind]"))) show(view.behind === found.dataset.behind ? "" : found.dataset.behind);
    else if (hit("[data-clear]")) {
      Object.assign(view, { text: "", answers: "" });
      show("");
    } else if ((found = hit("[data-offset]"))) {
      offset = Number(found.dataset.offset);
      ask("questions");
      part("right").scrollTo({ top: 0 });
      if (narrow()) part("right").scrollIntoView({ block: "start" });
    } else if ((found = hit("[data-svg]"))) savePlot(found, "svg");
    else if ((found = hit("[data-png]"))) savePlot(found, "png");
    else if ((found = hit("button[data-file]"))) {
      if (!twice(found.dataset.file)) ask("file", { file: found.dataset.file });
    } else if ((found = hit("[data-filter=add]"))) addCondition();
    else if ((found = hit("[data-filter=save]"))) {
      const name = $("[data-filter-name]").value.trim();
      if (!name) $("[data-filter-name]").focus();
      else if (!twice(`save ${name}`)) filter("save", name);
    } else if ((found = hit("[data-filter]"))) {
      const { filter: what, value } = found.dataset;
      if (!twice(`${what} ${value}`)) filter(what, what === "remove" ? Number(value) : value);
    } else if ((found = hit("[data-adjudicate]"))) settle(found);
    else if ((found = hit("[data-unsettle]"))) {
      const name = (nameField() && nameField().value.trim()) || "";
      if (!twice("unsettle")) ask("unsettle", { trace: found.dataset.unsettle, name });
    }
  });

  document.addEventListener("change", (event) => {
    if (!event.target.closest("#rtv-analyse")) return;
    const field = "select[data-view], input[type=checkbox][data-view], input[type=date][data-view]";
    if (event.target.matches(field)) change(event.target);
    if (event.target.matches("[data-adjudicator]")) {
      view.adjudicators = $$("[data-adjudicator]:checked").map((box) => box.dataset.adjudicator);
      const summary = $(".rtv-adjudicators summary");
      if (summary) summary.textContent = `Adjudicators: ${view.adjudicators.length || "none"}`;
      address();
      askFigures();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.closest("#rtv-analyse-filter")) return;
    if (event.target.matches("[data-condition=value]")) addCondition();
    if (event.target.matches("[data-filter-name]")) $("#rtv-analyse-filter [data-filter=save]").click();
  });

  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target.matches?.("#rtv-analyse .rtv-builder")) building = event.target.open;
    },
    true,
  );

  let typed = 0;
  document.addEventListener("input", (event) => {
    if (!event.target.closest("#rtv-analyse")) return;
    if (event.target.matches("input[data-view=text]")) {
      clearTimeout(typed);
      typed = setTimeout(() => change(event.target), TYPING);
    } else if (event.target.matches("[data-adjudicating]")) localStorage.setItem(NAME, event.target.value);
    else if (event.target.matches("[data-read-curve]")) readCurve(event.target);
  });

  // The numbers at a place of the curve, as they stand in the table beside it.
  function readCurve(slider) {
    const row = $("table.curve tbody", slider.closest(".rtv-figure")).rows[Number(slider.value)];
    const cells = [...row.cells].filter((cell) => cell.tagName === "TD" && cell.dataset.column !== "answers");
    const words = cells.map((cell) => `${cell.dataset.column} ${cell.textContent}`);
    slider.parentElement.querySelector("output").textContent = [`tau ${row.cells[0].textContent}`, ...words].join(" · ");
  }

  // Start -----------------------------------------------------------------------------------------------------

  const watched = new Set();
  function watch() {
    for (const name of PARTS) {
      const host = part(name);
      if (!host || watched.has(host)) continue;
      watched.add(host);
      new MutationObserver(() => drawn(name)).observe(host, { childList: true, subtree: true });
      drawn(name);
    }
    return PARTS.every(part);
  }

  // The bridge may be there before the parts are.
  const waiting = new MutationObserver(() => {
    if (watch()) waiting.disconnect();
  });

  function open() {
    openedAt = performance.now();
    if (!watch()) waiting.observe(document.body, { childList: true, subtree: true });
    search();
    address();
    ask("controls");
    ask("filter");
    askFigures();
  }

  // Called by the page's bridge once its parts are there.
  rtv.analyse = (trigger) => {
    send = trigger;
    open();
  };
  rtv.onPage((page) => {
    if (page !== "analyse" || !send) return;
    address();
    if (performance.now() - openedAt > 1000) open(); // verdicts may have come meanwhile
  });
})();
