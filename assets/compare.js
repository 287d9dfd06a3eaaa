// Two systems side by side: the second one on the Explore page, and the Compare page with its address.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.compare) return;

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const put = (element, text) => {
    if (element && element.textContent !== String(text)) element.textContent = text;
  };
  const linked = new URLSearchParams(location.search);

  // The second system on the Explore page ----------------------------------------------------------------------

  rtv.second = linked.get("second") || "";
  const knobs = { tau: null, k: null, single: false };

  // How many answers only one of the two gives, when tau moves: the server counts by the same rule.
  function count() {
    const rows = $$(".rtv-candidates[data-beside] > .row");
    if (!rows.length) return;
    const ours = (row) => ["accepted", "fallback"].includes(row.dataset.state);
    const theirs = (row) => row.dataset.other === "1";
    put($("[data-count=only-here]"), rows.filter((row) => ours(row) && !theirs(row)).length);
    put($("[data-count=only-there]"), rows.filter((row) => theirs(row) && !ours(row)).length);
  }

  // Of the candidates that both judged, only those of which one keeps what the other does not.
  rtv.disagreeing = linked.get("disagree") === "1";
  function filter() {
    const ol = $(".rtv-candidates");
    if (!ol) return;
    const beside = "beside" in ol.dataset;
    const kept = (row) => ["accepted", "fallback"].includes(row.dataset.state);
    const apart = (row) => "both" in row.dataset && kept(row) !== (row.dataset.other === "1");
    const rows = $$(".row", ol);
    const only = beside && rtv.disagreeing;
    for (const row of rows) if (row.hidden !== (only && !apart(row))) row.hidden = only && !apart(row);
    if ("disagreeing" in ol.dataset !== only) ol.toggleAttribute("data-disagreeing", only);
    put($("[data-count=disagree]"), rows.filter(apart).length);
    const box = $("[data-disagree]");
    if (box && box.checked !== rtv.disagreeing) box.checked = rtv.disagreeing;
  }

  const mark = rtv.mark;
  rtv.mark = (tau, k, single) => {
    mark?.(tau, k, single);
    Object.assign(knobs, { tau: Number(tau), k: Number(k), single: Boolean(single) });
    count();
    filter();
  };

  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-disagree]")) {
      rtv.disagreeing = event.target.checked;
      filter();
      return;
    }
    const choice = event.target.closest("select[data-second]");
    if (!choice) return;
    rtv.second = choice.value;
    rtv.send?.("second", { name: choice.value });
  });

  // The Compare page -------------------------------------------------------------------------------------------

  let send = null;
  let shown = { ask: "", systems: [] }; // what the address names
  let carried = {}; // the knobs of the view that the comparison was opened from

  const form = () => $(".rtv-compare-form");
  const field = () => $("input[name=question]", form());
  const boxes = () => $$("input[name=system]", form());

  function fill(question, names) {
    field().value = question;
    if (names.length) boxes().forEach((box) => (box.checked = names.includes(box.value)));
  }

  function compare() {
    if (!send || !form()) return;
    const names = boxes().filter((box) => box.checked).map((box) => box.value);
    shown = { ask: field().value.trim(), systems: names };
    send("compare", { question: field().value, systems: names, ...carried });
    address();
  }

  function address() {
    if (rtv.page?.() !== "compare") return;
    const parameters = new URLSearchParams({ page: "compare" });
    if (shown.ask) {
      parameters.set("ask", shown.ask);
      shown.systems.forEach((name) => parameters.append("systems", name));
      for (const [name, value] of Object.entries(carried)) parameters.set(name, value === true ? "1" : String(value));
    }
    if (linked.has("__theme")) parameters.set("__theme", linked.get("__theme"));
    const next = `${location.pathname}?${parameters}`;
    if (next !== location.pathname + location.search) history.replaceState(null, "", next);
  }

  // From a link: the question is asked once the server can be called and the form is there.
  function open(parameters) {
    carried = {};
    const number = (name) => (parameters.has(name) ? Number(parameters.get(name)) : NaN);
    if (Number.isFinite(number("tau"))) carried.tau = number("tau");
    if (Number.isFinite(number("k"))) carried.k = number("k");
    if (parameters.get("single") === "1") carried.single = true;
    fill(parameters.get("ask") || "", parameters.getAll("systems"));
    if (parameters.get("ask")) compare();
  }

  function busy() {
    const at = $("#rtv-compare-said [data-comparing]");
    const stop = $("[data-compare-stop]");
    if (stop) stop.disabled = !(at && at.dataset.comparing === "1");
  }

  document.addEventListener("submit", (event) => {
    if (event.target !== form()) return;
    event.preventDefault();
    carried = {};
    compare();
  });

  document.addEventListener("click", (event) => {
    const example = event.target.closest("[data-compare]");
    const link = event.target.closest("a[data-side-by-side]");
    const tab = document.getElementById("rtv-compare-button");
    if (example && form()) {
      field().value = example.dataset.compare;
      carried = {};
      compare();
    } else if (event.target.closest("[data-compare-stop]")) send?.("halt", {});
    else if (link && tab && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      tab.click();
      const parameters = new URLSearchParams(link.search);
      if (knobs.tau !== null) parameters.set("tau", String(knobs.tau));
      if (knobs.k !== null) parameters.set("k", String(knobs.k));
      if (knobs.single) parameters.set("single", "1");
      waiting = parameters;
      ready();
    }
  });

  rtv.onPage?.((page) => page === "compare" && address());

  // Gradio's way to call the server, handed over when the page is there.
  rtv.compare = (trigger) => {
    send = trigger;
    ready();
  };

  let waiting = linked.get("page") === "compare" && !rtv.presenting ? linked : null; // a view to open
  function ready() {
    if (!waiting || !send || !form()) return;
    const view = waiting;
    waiting = null;
    setTimeout(() => open(view), 50); // the tab is open then, and the address is its own
  }

  // The server draws the list and the sums anew after every verdict.
  function watch() {
    const parts = ["rtv-candidates", "rtv-second"].map((id) => document.getElementById(id));
    if (!parts.every(Boolean)) return false;
    const drawn = new MutationObserver(filter);
    parts.forEach((part) => drawn.observe(part, { childList: true, subtree: true }));
    filter();
    return true;
  }

  function start() {
    const looking = new MutationObserver(() => watch() && looking.disconnect());
    if (!watch()) looking.observe(document.documentElement, { childList: true, subtree: true });
    const finding = new MutationObserver(() => {
      const said = $("#rtv-compare-said");
      if (!said || !form()) return;
      finding.disconnect();
      new MutationObserver(busy).observe(said, { childList: true, subtree: true });
      ready();
    });
    finding.observe(document.documentElement, { childList: true, subtree: true });
  }
  start();
})();
