// The one listener of the page: clicks and keys become events for the server; moving tau or k changes marks only.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.ready) return;
  rtv.ready = true;

  const SIZES = [1, 5, 10];
  const VERDICTS = { 1: "listed", 2: "variant", 3: "unlisted", 4: "invalid", 5: "unsure" };
  const EVIDENCE = { q: "supports", w: "insufficient", e: "contradicts", r: "other-entity" };
  const NAME = "rtv-annotator";
  const DOUBLE = 400; // ms within which the same verdict, or a click on Undo or Redo, counts once
  const SLOW = 6000; // ms after which an unanswered verdict counts as not saved
  const PARTS = ["candidates", "evidence", "passages", "progress", "saved", "judge"].map((name) => `rtv-${name}`);

  const knobs = { tau: null, k: null, single: null };
  const linked = new URLSearchParams(location.search);
  let wanted = linked.get("candidate");
  let chosen = null; // { key, typed }
  let noted = null; // the one whose verdict and note are on the page
  let passage = null; // rank of the chosen passage
  let evidenceDraft = ""; // an evidence verdict given before the verdict itself
  let pendingVerdict = ""; // a verdict that waits for its gold answer
  let sending = { label: "", token: "" }; // the verdict that is on its way
  let asked = ""; // the question the view belongs to

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const numbers = (text) => (text ? text.split(" ").map(Number) : []);
  const list = () => $(".rtv-candidates");
  const rows = () => $$(".rtv-candidates > .row");
  const rowOf = (key) => rows().find((row) => row.dataset.key === key);
  const set = (element, name, value) => {
    if (element && element.dataset[name] !== String(value)) element.dataset[name] = value;
  };
  const put = (element, text) => {
    if (element && element.textContent !== String(text)) element.textContent = text;
  };
  const token = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");
  const narrow = () => matchMedia("(max-width: 860px)").matches;
  const send = (event, data) => rtv.send && rtv.send(event, data);

  // Marks -----------------------------------------------------------------------------------------------------

  // The same rule as rtv_core.thresholds.judge, on the places and repeats that it computed.
  function stateOf(row, at) {
    const scores = numbers(row.dataset.p);
    if (!row.dataset.index) return "missed";
    if (!scores.length) return row.dataset.state === "given" ? "given" : "unverified";
    const above = scores[at] > knobs.tau;
    const best = numbers(row.dataset.places)[at] === 0;
    const first = numbers(row.dataset.keeps)[at] === 1;
    if (best) return above ? "accepted" : "fallback";
    if (knobs.single) return "rejected";
    if (above) return first ? "accepted" : "repeat";
    return "rejected";
  }

  function mark() {
    const ol = list();
    if (!ol || knobs.tau === null) return;
    const at = SIZES.indexOf(knobs.k);
    ol.style.setProperty("--tau", knobs.tau);
    const candidates = rows().filter((row) => row.dataset.index);
    const place = (row) => (row.dataset.p ? numbers(row.dataset.places)[at] : 1e6 + Number(row.dataset.index));
    const sorted = [...candidates].sort((a, b) => place(a) - place(b));
    const gold = new Set();
    let answers = 0;
    let line = 0;
    for (const row of sorted) {
      const scores = numbers(row.dataset.p);
      const state = stateOf(row, at);
      sign(ol, row, state);
      if (scores.length) {
        row.style.setProperty("--p", scores[at]);
        put($(".score", row), scoreText(scores[at]));
        if (scores[at] > knobs.tau) line += 1;
      }
      if (["accepted", "fallback", "given"].includes(state)) {
        answers += 1;
        numbers(row.dataset.gold).forEach((i) => gold.add(i));
      }
    }
    arrange(ol, sorted, line);
    put($("[data-tau-text]"), knobs.tau.toFixed(2));
    put($("[data-count=answers]"), answers);
    put($("[data-count=gold]"), gold.size);
    const tauLine = $(".tau-line", ol);
    if (tauLine) set(tauLine, "none", line === 0 ? 1 : 0);
    markEvidence(at);
  }

  // A verifier that only says words is not to be quoted with numbers.
  const scoreText = (p) => ("words" in list().dataset ? (p > 0.5 ? "Yes" : "No") : p.toFixed(2));

  function sign(ol, row, state) {
    const now = $(".state", row);
    if (!now.classList.contains(state)) now.replaceWith($(`.signs > .state.${state}`, ol).cloneNode(true));
    set(row, "state", state);
  }

  function arrange(ol, sorted, line) {
    const tauLine = $(".tau-line", ol);
    const order = tauLine ? [...sorted.slice(0, line), tauLine, ...sorted.slice(line)] : sorted;
    order.forEach((element, i) => {
      if (ol.children[i] !== element) ol.insertBefore(element, ol.children[i]);
    });
  }

  function markEvidence(at) {
    const head = $("#rtv-evidence .rtv-head.evidence");
    if (!head) return;
    const row = rowOf(head.dataset.key);
    if (!row || !row.dataset.p) return;
    set(head, "state", row.dataset.state);
    const score = $(".score", head);
    if (score) put(score, scoreText(numbers(row.dataset.p)[at]));
    $$("[data-k]", head).forEach((element) => element.classList.toggle("chosen", Number(element.dataset.k) === knobs.k));
    $$("#rtv-evidence [data-place]").forEach((item) =>
      item.toggleAttribute("data-unused", Number(item.dataset.place) >= knobs.k),
    );
  }

  rtv.mark = (tau, k, single) => {
    knobs.tau = Math.min(Math.max(Number(tau) || 0, 0), 1);
    knobs.k = SIZES.includes(Number(k)) ? Number(k) : knobs.k || 10;
    knobs.single = Boolean(single);
    mark();
    address();
  };

  // One selection, everywhere ---------------------------------------------------------------------------------

  function select() {
    const key = chosen && chosen.key;
    const row = key && rowOf(key);
    const gave = new Set(row ? numbers(row.dataset.ranks) : []);
    const used = new Set(row ? numbers(row.dataset.evidence) : []);
    const givenBy = (r) => passage !== null && numbers(r.dataset.ranks).includes(passage);
    rows().forEach((r, i) => {
      r.setAttribute("aria-selected", String(r.dataset.key === key));
      r.tabIndex = row ? (r === row ? 0 : -1) : i === 0 ? 0 : -1;
      r.toggleAttribute("data-given", givenBy(r));
    });
    $$(".rtv-passages > .hit").forEach((hit, i) => {
      const rank = Number(hit.dataset.rank);
      hit.setAttribute("aria-selected", String(rank === passage));
      hit.tabIndex = passage === null ? (i === 0 ? 0 : -1) : rank === passage ? 0 : -1;
      hit.toggleAttribute("data-gives", gave.has(rank));
      hit.toggleAttribute("data-used", used.has(rank) && !gave.has(rank));
    });
    $$(".rtv-ticks > i").forEach((tick) => {
      const rank = Number(tick.dataset.rank);
      tick.className = [
        gave.has(rank) ? "gives" : used.has(rank) ? "used" : "",
        rank === passage ? "chosen" : "",
      ].join(" ");
    });
    const caption = $(".rtv-legend");
    if (caption) {
      const text = row && row.dataset.index
        ? `● ${gave.size} gave the chosen candidate · ○ evidence for it`
        : caption.dataset.default;
      put(caption, text);
    }
  }

  function choose(row, focus) {
    if (!row) return;
    chosen = { key: row.dataset.key, typed: row.dataset.index ? "" : row.dataset.answer };
    evidenceDraft = "";
    pendingVerdict = "";
    select();
    if (focus) row.focus({ preventScroll: true });
    if (focus || !narrow()) row.scrollIntoView({ block: "nearest" });
    askEvidence();
    address();
  }

  function chooseTyped(text) {
    chosen = { key: "", typed: text };
    evidenceDraft = "";
    pendingVerdict = "";
    select();
    askEvidence();
  }

  // The note on the page is that of the candidate that was shown last, and is kept with it.
  function askEvidence() {
    send("choose", () => ({ ...chosen, before: noted ? noted.key : "" }));
  }

  function step(by) {
    const all = rows().filter((row) => !row.hidden);
    if (!all.length) return;
    const at = all.findIndex((row) => chosen && row.dataset.key === chosen.key);
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
    choose(all[next], document.activeElement && document.activeElement.closest(".rtv-candidates"));
  }

  function choosePassage(rank, jump) {
    passage = passage === rank && !jump ? null : rank;
    select();
    const hit = $(`.rtv-passages > .hit[data-rank="${rank}"]`);
    if (hit && jump) hit.scrollIntoView({ block: "nearest" });
    if (passage !== null) {
      const first = $(".rtv-candidates > .row[data-given]");
      if (first && !$(".rtv-candidates > .row[data-given][aria-selected=true]")) first.scrollIntoView({ block: "nearest" });
    }
  }

  // Judging ---------------------------------------------------------------------------------------------------

  // What the page itself has to say of a verdict; it covers the server's last line until there is a new one.
  function say(text, kind = "") {
    const line = $(".rtv-said .rtv-local");
    if (!line) return;
    line.textContent = text;
    line.className = `rtv-local ${kind}`;
  }

  function judge(label) {
    const bar = $(".rtv-judge");
    if (!chosen || !bar) return say("Choose a candidate first (j).", "busy");
    const button = $(`[data-verdict="${label}"]`, bar);
    if (!button || button.disabled) return say(`No gold is known for this question, so no answer can be ${label}.`, "busy");
    const gold = $("select[data-gold]", bar);
    const ready = shown();
    const index = ready && gold && gold.value !== "" ? Number(gold.value) : null;
    if (ready && (label === "listed" || label === "variant") && index === null) {
      pendingVerdict = label;
      gold.focus();
      return say(`Which gold answer is it? Choose it, then it is saved as ${label}.`, "busy");
    }
    pendingVerdict = "";
    const note = $("#rtv-note textarea, #rtv-note input").value;
    if (twice(["judge", chosen.key, chosen.typed, label, evidenceDraft, index, note].join(" "))) return;
    sending = { label, token: token() };
    send("judge", {
      ...chosen,
      label,
      evidence: evidenceDraft || (ready && bar.dataset.evidence) || "",
      unseen: !ready, // what note, evidence and gold answer were or would be is the server's to know
      gold: label === "listed" || label === "variant" ? index : null,
      token: sending.token,
    });
    say("Saving…", "busy");
    press();
    const sent = sending.token;
    setTimeout(() => {
      if (sending.token !== sent) return;
      sending = { label: "", token: "" };
      press();
      say("✕ Not saved: the server does not answer. Your words are kept; press the key again.", "bad");
    }, SLOW);
  }

  // The buttons show what is saved, or on its way; an evidence verdict may still wait for the other one.
  function press() {
    const bar = $(".rtv-judge");
    if (!bar) return;
    if (sending.token && $(`.rtv-saved[data-token="${sending.token}"]`)) sending = { label: "", token: "" };
    const label = sending.label || bar.dataset.label;
    const evidence = evidenceDraft || bar.dataset.evidence;
    const pressed = (button, yes) => button.setAttribute("aria-pressed", String(yes));
    $$("[data-verdict]", bar).forEach((button) => pressed(button, button.dataset.verdict === label));
    $$("[data-evidence-verdict]", bar).forEach((button) =>
      pressed(button, button.dataset.evidenceVerdict === evidence),
    );
  }

  // Whether the bar and the note are those of the chosen candidate, or still those of the one before.
  const shown = () =>
    noted && noted.typed === chosen.typed && (Boolean(chosen.typed) || noted.key === chosen.key);

  function judgeEvidence(label) {
    const bar = $(".rtv-judge");
    if (!chosen || !bar) return say("Choose a candidate first (j).", "busy");
    evidenceDraft = label;
    press();
    if (shown() && bar.dataset.label) judge(bar.dataset.label);
    else say("Now the verdict on the answer, 1 to 5: both are saved together.", "busy");
  }

  // A double click is one click.
  let last = { what: "", at: 0 };
  function twice(what) {
    const now = performance.now();
    const same = last.what === what && now - last.at < DOUBLE;
    last = { what, at: now };
    return same;
  }

  function again(event) {
    say("");
    send(event, chosen || {});
  }

  // The address -----------------------------------------------------------------------------------------------

  // Which page is open, by the id of its tab; `?page=` opens one. Its other parameters are its own affair.
  rtv.page = () => {
    const tab = $("#rtv-tabs [role=tab][aria-selected=true]");
    return tab ? tab.id.replace(/^rtv-|-button$/g, "") : "explore";
  };
  const turns = []; // what is to be told that a page was opened
  rtv.onPage = (listener) => turns.push(listener);

  function openLinked() {
    const page = linked.get("page");
    const tab = page && !rtv.presenting && /^[a-z]+$/.test(page) && document.getElementById(`rtv-${page}-button`);
    if (tab && rtv.page() !== page) tab.click();
  }

  function turned() {
    const page = rtv.page();
    if (page === "explore" && $(".rtv-progress[data-question]")) address();
    else {
      const parameters = new URLSearchParams();
      if (page !== "explore") parameters.set("page", page);
      if (linked.has("__theme")) parameters.set("__theme", linked.get("__theme"));
      history.replaceState(null, "", `${location.pathname}${parameters.size ? `?${parameters}` : ""}`);
    }
    turns.forEach((listener) => listener(page));
  }

  // Whether what is on screen was kept, and not asked now.
  const kept = (progress) => /(^|&)(run|present)=/.test(progress.dataset.link);

  function address() {
    const progress = $(".rtv-progress[data-question]");
    if (!progress || rtv.page() !== "explore") return;
    const parameters = new URLSearchParams();
    parameters.set("q", progress.dataset.question);
    const profile = $("[data-profile]");
    if (profile && !kept(progress)) parameters.set("profile", profile.dataset.profile);
    if (knobs.tau !== null) parameters.set("tau", String(Math.round(knobs.tau * 1e4) / 1e4));
    if (knobs.k !== null) parameters.set("k", String(knobs.k));
    if (knobs.single) parameters.set("single", "1");
    new URLSearchParams(progress.dataset.link).forEach((value, name) => parameters.set(name, value));
    const row = chosen && rowOf(chosen.key);
    if (row) parameters.set("candidate", row.dataset.answer);
    else if (wanted) parameters.set("candidate", wanted);
    if (rtv.second) parameters.set("second", rtv.second);
    if (rtv.second && rtv.disagreeing) parameters.set("disagree", "1");
    for (const name of ["__theme"]) if (linked.has(name)) parameters.set(name, linked.get(name));
    const next = `${location.pathname}?${parameters}`;
    if (next !== location.pathname + location.search) history.replaceState(null, "", next);
  }

  // After the server has drawn something -----------------------------------------------------------------------

  function refresh() {
    const progress = $(".rtv-progress[data-question]");
    const now = progress && `${kept(progress) ? progress.dataset.link : ""} ${progress.dataset.question}`;
    if (now && now !== asked) {
      if (asked) wanted = null;
      asked = now;
      chosen = null;
      noted = null;
      evidenceDraft = "";
      passage = null;
    }
    const ol = list();
    if (ol && knobs.tau === null && ol.dataset.tau) {
      knobs.tau = Number(ol.dataset.tau);
      knobs.k = Number(ol.dataset.k);
      knobs.single = ol.dataset.single === "1";
    }
    const head = $("#rtv-evidence .rtv-head.evidence");
    if (chosen && !chosen.key && head && head.dataset.typed === chosen.typed) chosen.key = head.dataset.key;
    if (noted && !noted.key && head && head.dataset.typed === noted.typed) noted.key = head.dataset.key;
    mark();
    select();
    takeBar();
    if (ol && ol.dataset.running === "0") settle(head);
    address();
  }

  // The bar was drawn anew. After a verdict the draft ends; one that was begun since the choice stays. The list
  // of gold answers, which keeps its own mind once it was used, is set as the server did.
  let barWas = "";
  let barOf = "";
  function takeBar() {
    const bar = $(".rtv-judge");
    if (!bar) return;
    const gold = $("select[data-gold]", bar);
    const chosenGold = gold ? gold.dataset.chosen || "" : "";
    const now = [bar.dataset.key, bar.dataset.label, bar.dataset.evidence, chosenGold, gold?.length].join(" ");
    if (now !== barWas) {
      if (barOf === bar.dataset.key) evidenceDraft = "";
      barWas = now;
      barOf = bar.dataset.key;
      if (gold) gold.value = chosenGold;
    }
    press();
  }

  // Once a run has ended: choose the linked or the best candidate, or fetch evidence that was not there before,
  // as the opinion of a second system that has read only now.
  let fetched = "";
  function settle(head) {
    if (!chosen) {
      const linkedRow = wanted && rows().find((row) => row.dataset.answer === wanted);
      wanted = null;
      choose(linkedRow || rows()[0]);
    } else if (head && head.dataset.key === chosen.key) {
      const row = rowOf(chosen.key);
      const opinions = list().dataset.opinions || "";
      const late = (head.dataset.opinions || "") !== opinions && fetched !== `${opinions} ${chosen.key}`;
      const unread = head.dataset.complete === "0" && row && row.dataset.p;
      if ((unread || late) && head.dataset.asked !== "1") {
        head.dataset.asked = "1";
        fetched = `${opinions} ${chosen.key}`;
        askEvidence();
      }
    }
  }

  // Own changes are dropped, so that drawing never answers itself.
  const drawn = new MutationObserver(() => {
    refresh();
    drawn.takeRecords();
  });

  // Listeners -------------------------------------------------------------------------------------------------

  const typing = (element) =>
    element &&
    (element.isContentEditable ||
      element.tagName === "TEXTAREA" ||
      element.tagName === "SELECT" ||
      (element.tagName === "INPUT" && !["range", "radio", "checkbox", "button"].includes(element.type)));
  const onExplore = () => {
    const page = $("#rtv-columns");
    return page && page.offsetParent !== null;
  };

  document.addEventListener("click", (event) => {
    const hit = (selector) => event.target.closest(selector);
    let found;
    if (rtv.annotate?.open()) rtv.annotate.click(event);
    if ((found = hit("[data-example]"))) {
      const open = found.closest("details.rtv-examples");
      if (open) open.open = false;
      send("example", { question: found.dataset.example });
    } else if ((found = hit("[data-verdict]"))) judge(found.dataset.verdict);
    else if ((found = hit("[data-evidence-verdict]"))) judgeEvidence(found.dataset.evidenceVerdict);
    else if ((found = hit("[data-action]"))) {
      if (!twice("step")) again(found.dataset.action);
    } else if ((found = hit("[data-show-rank]"))) choosePassage(Number(found.dataset.showRank), true);
    else if ((found = hit(".rtv-ticks > i"))) choosePassage(Number(found.dataset.rank), true);
    else if ((found = hit(".rtv-candidates > .row"))) {
      choose(found, true);
      if (narrow()) $("#rtv-middle").scrollIntoView({ block: "start" });
    } else if ((found = hit(".rtv-passages > .hit"))) {
      if (!String(getSelection())) choosePassage(Number(found.dataset.rank));
    } else if ((found = hit("[data-help]"))) help();
    else if (event.isTrusted && hit("#rtv-tabs [role=tab]")) setTimeout(turned);
    for (const details of $$("details.rtv-examples[open]")) if (!details.contains(event.target)) details.open = false;
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-gold]") && chosen) {
      const bar = $(".rtv-judge");
      const label = pendingVerdict || (["listed", "variant"].includes(bar.dataset.label) ? bar.dataset.label : "");
      if (label && event.target.value !== "") judge(label);
    }
    if (rtv.annotate?.open()) rtv.annotate.change(event);
    if (event.target.closest("#rtv-annotator")) {
      localStorage.setItem(NAME, event.target.value);
      setTimeout(() => send("refresh", () => chosen || {}), 50);
    }
  });

  document.addEventListener("keydown", (event) => {
    const element = document.activeElement;
    if (event.isComposing) return;
    if (rtv.annotate?.open() && !$("dialog[open]")) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?" && !typing(element)) help();
      else if (!rtv.annotate.key(event, typing(element))) return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (typing(element)) {
      if (event.key === "Escape") element.blur();
      if (event.key === "Enter" && element.closest("#rtv-missing-text")) {
        event.preventDefault();
        event.stopPropagation();
        const text = element.value.trim();
        if (text && asked) {
          fill(element, "");
          element.blur(); // so that the next key is a verdict
          chooseTyped(text);
        }
      }
      if (event.key === "Enter" && element.closest("#rtv-question")) setTimeout(() => element.blur());
      if (event.key === "Enter" && element.closest("#rtv-note")) {
        event.preventDefault();
        event.stopPropagation();
        const label = $(".rtv-judge") && $(".rtv-judge").dataset.label;
        element.blur();
        if (label) judge(label);
        else say("Now the verdict, 1 to 5: the note is saved with it.", "busy");
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !onExplore() || $("dialog[open]")) return;
    const key = event.key;
    if (rtv.presenting && !["j", "k", "?", "Enter", " ", "ArrowDown", "ArrowUp"].includes(key)) return;
    if (event.repeat && (VERDICTS[key] || EVIDENCE[key] || key === "z" || key === "Z")) return;
    const inCandidates = element && element.closest(".rtv-candidates");
    const inPassages = element && element.closest(".rtv-passages");
    let done = true;
    if (key === "j" || (inCandidates && key === "ArrowDown")) step(1);
    else if (key === "k" || (inCandidates && key === "ArrowUp")) step(-1);
    else if (inPassages && (key === "ArrowDown" || key === "ArrowUp")) {
      const all = $$(".rtv-passages > .hit");
      const next = all[all.indexOf(element.closest(".hit")) + (key === "ArrowDown" ? 1 : -1)];
      if (next) {
        next.tabIndex = 0;
        next.focus();
      }
    } else if ((key === "Enter" || key === " ") && inCandidates) choose(element.closest(".row"), true);
    else if ((key === "Enter" || key === " ") && inPassages) choosePassage(Number(element.closest(".hit").dataset.rank));
    else if (VERDICTS[key]) judge(VERDICTS[key]);
    else if (EVIDENCE[key]) judgeEvidence(EVIDENCE[key]);
    else if (key === "z") again("undo");
    else if (key === "Z") again("redo");
    else if (key === "n") $("#rtv-note textarea, #rtv-note input").focus();
    else if (key === "/") $("#rtv-question textarea, #rtv-question input").focus();
    else if (key === "?") help();
    else done = false;
    if (done) event.preventDefault();
  }, true);

  // Gradio hears a field's input event; setting the value alone would go unnoticed.
  function fill(field, text) {
    const type = field.tagName === "TEXTAREA" ? HTMLTextAreaElement : HTMLInputElement;
    Object.getOwnPropertyDescriptor(type.prototype, "value").set.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function help() {
    const dialog = $("dialog.rtv-keys");
    if (dialog && !dialog.open) dialog.showModal();
  }

  rtv.onAnswer((name, { key, typed }) => {
    if (name === "choose") noted = { key, typed };
  });
  rtv.name = () => localStorage.getItem(NAME);

  function start() {
    const watched = new Set();
    let opened = false;
    const found = () => {
      if (!opened && $("#rtv-tabs [role=tab]")) {
        opened = true;
        openLinked();
      }
      for (const id of PARTS) {
        const part = document.getElementById(id);
        if (part && !watched.has(part)) {
          watched.add(part);
          drawn.observe(part, { childList: true, subtree: true, characterData: true, attributes: true });
        }
      }
      if (watched.size === PARTS.length) waiting.disconnect();
    };
    const waiting = new MutationObserver(found);
    waiting.observe(document.body, { childList: true, subtree: true });
    found();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
