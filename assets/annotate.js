// The Annotate page in the browser: shows the next item at once, and sends one action after the other.
// What the server draws arrives in #rtv-feed; from there, what is new goes to #rtv-desk, and nothing is drawn over
// words that are being typed. keys.js hears the keys and clicks and hands them on.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.annotate) return;

  const LABELS = { 1: "listed", 2: "variant", 3: "unlisted", 4: "invalid", 5: "unsure" };
  const EVIDENCE = { q: "supports", w: "insufficient", e: "contradicts", r: "other-entity" };
  const NAME = "rtv-annotator";
  const DOUBLE = 400; // ms within which a second press of the same kind belongs to the first
  const SLOW = 6000; // ms after which an action counts as not done
  const SLOTS = ["head", "said", "item"];

  let queue = ""; // the queue that is open
  let serial = ""; // the feed that was taken last
  let flight = null; // the action that is on its way
  let waiting = []; // the actions after it
  let ahead = null; // the next item, ready to be shown
  let lost = null; // an action that got no answer: sent again unchanged, it counts once
  let drafts = {}; // by place: { note, evidence, add }
  let asking = ""; // a label that waits for its gold answer
  let support = null; // the words that are selected in a passage
  let last = { what: "", at: 0 };
  let begun = false;

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const desk = () => $("#rtv-desk");
  const item = () => $("#rtv-desk .rtv-item");
  const placeOf = (article) => (article ? Number(article.dataset.place) : null);
  const token = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");
  const open = () => rtv.page && rtv.page() === "annotate" && desk();

  function slot(name) {
    const root = desk();
    if (!root) return null;
    if (!root.children.length)
      for (const each of SLOTS) {
        const part = document.createElement("div");
        part.className = `rtv-slot-${each}`;
        root.append(part);
      }
    return $(`:scope > .rtv-slot-${name}`, root);
  }

  function twice(what) {
    const now = performance.now();
    const same = last.what === what && now - last.at < DOUBLE;
    last = { what, at: now };
    return same;
  }

  // What the page itself has to say; it covers the server's last line until there is a new one.
  function say(text, kind = "") {
    const part = slot("said");
    if (!part) return;
    $(".rtv-desk-local", part)?.remove();
    if (!text) return;
    const line = document.createElement("p");
    line.className = `rtv-desk-local ${kind}`;
    line.setAttribute("role", kind === "bad" ? "alert" : "status");
    line.textContent = text;
    part.append(line);
  }

  // Sending: one action at a time, in order --------------------------------------------------------------------

  function act(action, data = {}) {
    const wanted = { action, queue, name: localStorage.getItem(NAME) || "", token: token(), ...data };
    const record = { wanted, article: item() };
    if (flight) waiting.push(record);
    else post(record);
    return record;
  }

  function post(record) {
    flight = record;
    record.timer = setTimeout(() => unanswered(record), SLOW);
    rtv.toAnnotate("annotate", record.wanted);
  }

  function unanswered(record) {
    if (flight !== record) return;
    flight = null;
    waiting = [];
    lost = record;
    restore(record);
    const kept = ["judge", "add"].includes(record.wanted.action) ? " Your words are kept; press the key again." : "";
    say(`✕ Not ${record.wanted.action === "judge" ? "saved" : "done"}: the server does not answer.${kept}`, "bad");
  }

  // The item that an action left comes back as it was.
  function restore(record) {
    const now = item();
    busy(now, false);
    if (record.article && record.article !== now && ["judge", "skip"].includes(record.wanted.action)) {
      if (now && !ahead) ahead = now;
      slot("item").replaceChildren(record.article);
    }
    busy(item(), false);
  }

  function busy(article, on) {
    if (article) article.toggleAttribute("data-busy", on);
  }

  // Taking what the server drew --------------------------------------------------------------------------------

  function take() {
    const fed = $("#rtv-feed .rtv-fed");
    if (!fed || fed.dataset.serial === serial || !desk()) return;
    serial = fed.dataset.serial;
    const drawn = (name) => $(`:scope > [data-slot="${name}"]`, fed);
    const mine = flight && flight.wanted.token === fed.dataset.token;
    const record = mine ? flight : null;
    if (mine) {
      clearTimeout(flight.timer);
      flight = null;
      lost = null;
    } else if (lost && lost.wanted.token === fed.dataset.token) lost = null;
    for (const name of ["head", "said"]) if (drawn(name)) put(slot(name), drawn(name));
    if (drawn("head") && !drawn("said")) say("");
    if (fed.hasAttribute("data-failed")) {
      waiting = [];
      if (record) restore(record);
      return;
    }
    if (fed.dataset.queue !== undefined && fed.dataset.queue !== queue) {
      queue = fed.dataset.queue;
      drafts = kept();
    } else if (drawn("item") && fed.dataset.queue === undefined) queue = "";
    if (record && record.wanted.action === "judge") forget(record.wanted.place);
    if (record && record.wanted.action === "add") cleared(record.article);
    const additions = record && record.article && $(".added-part", record.article);
    if (additions && drawn("added")) put(additions, drawn("added"));
    if (drawn("item")) chain(drawn("item"), drawn("ahead"), record);
    else busy(item(), false);
    address();
    if (!flight && waiting.length) post(waiting.shift());
  }

  // Each part is copied, so that Gradio's own copy stays as Gradio made it.
  function put(part, drawn) {
    part.replaceChildren(...[...drawn.children].map((child) => child.cloneNode(true)));
  }

  // Radio buttons get their name here: with one, a copy and what it was copied from would be one group.
  function copy(drawn) {
    const article = drawn.cloneNode(true);
    for (const radio of $$("[data-group]", article)) radio.name = radio.dataset.group;
    return article;
  }

  // Of the items that come next, the first that isn't judged already and on its way.
  function chain(first, second, record) {
    const next = [first, second].map((part) => part && part.firstElementChild).filter(Boolean);
    const sent = new Set(waiting.filter((r) => r.wanted.action === "judge").map((r) => r.wanted.place));
    const shown = next.find((article) => !sent.has(placeOf(article))) || null;
    const after = next[next.indexOf(shown) + 1];
    ahead = shown && after ? copy(after) : null;
    if (shown) show(copy(shown), Boolean(record && record.article === item()));
    else if (!sent.size) slot("item").replaceChildren();
  }

  // Puts an item on the desk; one that lies there already stays, with what was typed into it.
  function show(article, again) {
    const now = item();
    const same = now && article.dataset.mode === now.dataset.mode && placeOf(article) === placeOf(now);
    if (same && !again) {
      Object.assign(now.dataset, article.dataset);
      busy(now, false);
      return;
    }
    const top = same ? $(".right", now)?.scrollTop : 0;
    slot("item").replaceChildren(article);
    asking = "";
    support = null;
    if (!article.matches(".rtv-item")) return;
    const draft = drafts[placeOf(article)];
    if (draft) {
      if (draft.note !== undefined) $(".note", article).value = draft.note;
      if (draft.add) $("[data-add-field]", article).value = draft.add;
      if (draft.evidence) press(article, draft.evidence);
    }
    $(".right", article)?.scrollTo(0, top);
    if (scrollY > 0 && !same) scrollTo(0, 0);
    if (open()) article.focus({ preventScroll: true });
  }

  // Drafts outlive a reload --------------------------------------------------------------------------------------

  const shelf = () => `rtv-drafts ${queue}`;
  function kept() {
    try {
      return JSON.parse(sessionStorage.getItem(shelf())) || {};
    } catch {
      return {};
    }
  }
  function keep(article, values) {
    const place = placeOf(article);
    drafts[place] = { ...drafts[place], ...values };
    sessionStorage.setItem(shelf(), JSON.stringify(drafts));
  }
  function forget(place) {
    delete drafts[place];
    sessionStorage.setItem(shelf(), JSON.stringify(drafts));
  }
  function cleared(article) {
    support = null;
    if (!article || !article.matches(".rtv-item")) return;
    const field = $("[data-add-field]", article);
    if (field) field.value = "";
    keep(article, { add: "" });
    where(article);
  }

  // Judging ------------------------------------------------------------------------------------------------------

  function judge(label, sure = false) {
    const article = item();
    if (!article || !article.matches(".rtv-item") || article.hasAttribute("data-busy")) return;
    if (twice(`judge ${label}`) && !sure) return;
    const blind = article.dataset.mode === "blind";
    if (blind && ["listed", "variant", "unlisted", "right"].includes(label)) label = "right";
    const button = $(`[data-label="${label}"]`, article);
    if (!button || button.disabled) return say(`No gold is known for this question, so no answer can be ${label}.`, "busy");
    let gold = null;
    if (label === "listed" || label === "variant") {
      const radio = $(".golds input:checked", article);
      const settled = asking || article.dataset.mode === "place" || article.hasAttribute("data-chosen");
      const equal = radio && radio.value === article.dataset.equal && label === "listed";
      if (!radio || !(settled || equal)) return ask(article, label, radio);
      gold = Number(radio.value);
    }
    asking = "";
    const data = {
      place: placeOf(article),
      label,
      gold,
      evidence: drafts[placeOf(article)]?.evidence || "",
      note: $(".note", article).value,
    };
    if (lost && same(lost.wanted, data)) data.token = lost.wanted.token;
    $$("[data-label]", article).forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
    act("judge", data);
    say("Saving…", "busy");
    if (ahead && article.dataset.followed !== "1" && label !== "right") {
      const next = ahead;
      ahead = null;
      show(next);
    } else busy(article, true);
  }

  const same = (one, other) => Object.keys(other).every((name) => one[name] === other[name]);

  function ask(article, label, radio) {
    asking = label;
    (radio || $(".golds input", article)).focus();
    say(`Which gold answer is it? Choose it (j, k), then Enter saves it as ${label}.`, "busy");
  }

  function judgeEvidence(value) {
    const article = item();
    if (!article) return;
    keep(article, { evidence: value });
    press(article, value);
    say("Now the answer, 1 to 5: both are saved together.", "busy");
  }

  function press(article, evidence) {
    $$("[data-evidence]", article).forEach((b) => {
      if (b.tagName === "BUTTON") b.setAttribute("aria-pressed", String(b.dataset.evidence === evidence));
    });
  }

  function stepGold(by) {
    const radios = $$(".golds input", item());
    if (!radios.length) return false;
    const at = radios.findIndex((radio) => radio.checked);
    const next = radios[Math.min(Math.max(at + by, 0), radios.length - 1)];
    next.checked = true;
    item().dataset.chosen = "";
    next.closest("label").scrollIntoView({ block: "nearest" });
    return true;
  }

  function confirmGold() {
    const article = item();
    if (!article) return false;
    const label = asking || (article.dataset.mode === "place" && $(".golds input:checked", article) ? "variant" : "");
    if (label) judge(label, true);
    return Boolean(label);
  }

  function skip() {
    const article = item();
    if (!article || twice("skip")) return;
    act("skip", { place: placeOf(article) });
    say("Skipping…", "busy");
    if (ahead) {
      const next = ahead;
      ahead = null;
      show(next);
    } else busy(article, true);
  }

  function undo() {
    if (!queue || twice("step")) return;
    act("undo");
  }

  // An answer that nobody gave -----------------------------------------------------------------------------------

  // What is selected in a passage, with its place in characters as Python counts them.
  function selected() {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    const inside = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("#rtv-desk .proofs .text bdi");
    const text = inside(range.startContainer);
    if (!text || text !== inside(range.endContainer)) return null;
    const before = document.createRange();
    before.setStart(text, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const raw = range.toString();
    const words = raw.trim();
    if (!words) return null;
    const lead = raw.length - raw.trimStart().length;
    const start = [...before.toString(), ...raw.slice(0, lead)].length;
    const li = text.closest("[data-passage]");
    return { passage: li.dataset.passage, start, end: start + [...words].length, words, number: $(".no", li).textContent };
  }

  function where(article) {
    const line = $(".add .where", article);
    if (!line) return;
    line.dataset.default ??= line.textContent;
    line.textContent = support ? `supported by passage ${support.number}: “${support.words.slice(0, 60)}”` : line.dataset.default;
    line.toggleAttribute("data-found", Boolean(support));
  }

  function notice() {
    const found = selected();
    const article = item();
    if (!found || !article || found.words.length > 200) return;
    const field = $("[data-add-field]", article);
    if (!field.value || field.dataset.taken === field.value) {
      field.value = found.words;
      field.dataset.taken = found.words;
    }
    support = found;
    where(article);
  }

  function add() {
    const article = item();
    if (!article) return;
    const field = $("[data-add-field]", article);
    const answer = field.value.trim();
    if (!answer) return field.focus();
    if (twice(`add ${answer}`)) return;
    const from = support ? { passage: support.passage, start: support.start, end: support.end } : {};
    const data = { place: placeOf(article), answer, note: "", ...from };
    if (lost && same(lost.wanted, data)) data.token = lost.wanted.token;
    act("add", data);
    say("Saving…", "busy");
    field.blur();
  }

  // The page as a whole ------------------------------------------------------------------------------------------

  function address() {
    if (!open()) return;
    const parameters = new URLSearchParams({ page: "annotate" });
    if (queue) parameters.set("queue", queue);
    const theme = new URLSearchParams(location.search).get("__theme");
    if (theme) parameters.set("__theme", theme);
    const next = `${location.pathname}?${parameters}`;
    if (next !== location.pathname + location.search) history.replaceState(null, "", next);
  }

  function begin() {
    if (!open() || !rtv.toAnnotate || (begun && desk().children.length)) return;
    begun = true;
    slot("said");
    const linked = new URLSearchParams(location.search);
    act("open", { queue: linked.get("page") === "annotate" ? linked.get("queue") || "" : "" });
  }

  function rename() {
    localStorage.removeItem(NAME);
    act("open");
  }

  function guide(on) {
    const panel = $("#rtv-guide");
    if (panel) panel.toggleAttribute("data-open", on);
  }

  const DO = {
    leave: () => act("leave"),
    again: () => act("open"),
    rename,
    guide: () => guide(),
    skip,
    undo,
    redo: () => twice("step") || act("redo"),
    change: (found) => act("open", { place: Number(found.dataset.place) }),
    quick: (found) => {
      const form = { run: found.dataset.run, strategy: "paper", count: "50", seed: "0", overlap: "1", blind: true };
      act("draw", { form });
      say("Drawing…", "busy");
    },
    open: (found) => act("open", { queue: found.dataset.queue }),
  };

  function submit(form) {
    if (form.dataset.form === "name") {
      const name = $("input", form).value.trim();
      if (!name) return;
      localStorage.setItem(NAME, name);
      const linked = new URLSearchParams(location.search);
      act("open", { queue: queue || linked.get("queue") || "" });
    } else if (form.dataset.form === "add") add();
    else if (form.dataset.form === "draw" && !twice("draw")) {
      const values = {};
      for (const field of $$("[name]", form)) values[field.name] = field.type === "checkbox" ? field.checked : field.value;
      act("draw", { form: values });
      say("Drawing…", "busy");
    }
  }

  rtv.annotate = {
    open,

    click(event) {
      const hit = (selector) => event.target.closest(selector);
      let found;
      if (!hit("#rtv-desk")) {
        if (!String(getSelection())) guide(false);
        return;
      }
      if ((found = hit("button[data-label]"))) judge(found.dataset.label);
      else if ((found = hit("button[data-evidence]"))) judgeEvidence(found.dataset.evidence);
      else if ((found = hit("[data-do]"))) {
        const wasOpen = $("#rtv-guide")?.hasAttribute("data-open");
        DO[found.dataset.do]?.(found);
        if (wasOpen) guide(false);
      } else guide(false);
    },

    change(event) {
      if (event.target.matches("#rtv-desk .golds input")) {
        item().dataset.chosen = "";
        if (asking && matchMedia("(pointer: coarse)").matches) judge(asking, true);
      }
    },

    input(event) {
      const article = item();
      if (!article || !article.contains(event.target)) return;
      if (event.target.matches(".note")) keep(article, { note: event.target.value });
      if (event.target.matches("[data-add-field]")) keep(article, { add: event.target.value });
    },

    // Whether the key was meant for this page.
    key(event, typing) {
      const key = event.key;
      const element = document.activeElement;
      if (typing) {
        if (key === "Escape") element.blur();
        else if (key === "Enter" && element.closest("#rtv-desk .note")) {
          element.blur();
          say("The note is saved with the verdict, 1 to 5.", "busy");
          return true;
        }
        return false;
      }
      if (key === "Escape") {
        guide(false);
        asking = "";
        return false;
      }
      if (event.repeat && key !== "j" && key !== "k") return Boolean(LABELS[key] || EVIDENCE[key]);
      if (key === "z") undo();
      else if (key === "Z") DO.redo();
      else if (key === "g") guide();
      else if (key === "c") $("#rtv-desk [data-do=change]")?.click();
      else if (!item()) return false;
      else if (LABELS[key]) judge(LABELS[key]);
      else if (EVIDENCE[key]) judgeEvidence(EVIDENCE[key]);
      else if (key === "s") skip();
      else if (key === "n") $(".note", item()).focus();
      else if (key === "a") {
        notice();
        $("[data-add-field]", item()).focus();
      } else if (key === "j") return stepGold(1);
      else if (key === "k") return stepGold(-1);
      else if (key === "Enter" && !element.closest("#rtv-desk button, #rtv-desk summary")) return confirmGold();
      else return false;
      return true;
    },
  };

  rtv.annotateReady = begin;
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("#rtv-desk form");
    if (!form) return;
    event.preventDefault();
    submit(form);
  });
  document.addEventListener("input", (event) => rtv.annotate.input(event));
  document.addEventListener("selectionchange", () => open() && notice());

  function start() {
    const drawn = new MutationObserver(() => {
      begin();
      take();
      drawn.takeRecords();
    });
    drawn.observe(document.body, {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter: ["aria-selected", "data-serial"],
    });
    if (rtv.onPage) rtv.onPage((page) => page === "annotate" && (begun ? address() : begin()));
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
