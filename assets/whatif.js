// What-ifs on the Explore page: evidence passages taken away by box, list or search, and put back. The server scores.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.whatif) return;

  const SLOW = 60000; // ms after which an unanswered search can be asked for again

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const numbers = (text) => (text ? text.split(" ").map(Number) : []);
  const shown = () => $("#rtv-evidence .rtv-head.evidence")?.dataset.key || "";
  const result = () => $("#rtv-whatif .rtv-whatif");

  let key = ""; // the candidate whose evidence is at hand
  let taken = new Set(); // places
  let past = []; // what was taken before, for Undo
  let turn = 0;
  let searching = false;

  function send(event, more = {}) {
    turn += 1;
    rtv.send?.(event, { key, turn, ...more });
  }

  function ask() {
    searching = false;
    if (taken.size) send("whatif", { taken: [...taken].sort((a, b) => a - b) });
    else turn += 1; // an answer that is still on its way is to none
    draw();
  }

  function take(places) {
    past.push([...taken]);
    taken = new Set(places);
    ask();
  }

  // Only what differs is touched: the page's other listeners look on.
  function draw() {
    for (const box of $$("#rtv-evidence [data-away]")) {
      const away = taken.has(Number(box.dataset.away));
      if (box.checked !== away) box.checked = away;
      const item = box.closest("li");
      if (item && item.hasAttribute("data-taken-away") !== away) item.toggleAttribute("data-taken-away", away);
    }
    const flip = $("#rtv-evidence [data-flip]");
    if (flip && flip.disabled !== searching) flip.disabled = searching;
    const made = result();
    if (!made) return;
    const old = made.dataset.key !== key || Number(made.dataset.turn) !== turn;
    if (made.hidden !== (old && !waiting(made))) made.hidden = old && !waiting(made);
    made.toggleAttribute("data-old", old);
  }

  // While the next score is on its way the last one stays, dimmed, so that nothing jumps.
  const waiting = (made) => made.dataset.key === key && (taken.size > 0 || searching);

  // The server has drawn a candidate's evidence, perhaps another's.
  function drawnEvidence() {
    if (shown() !== key) {
      key = shown();
      taken = new Set();
      past = [];
      searching = false;
      turn += 1;
    }
    draw();
  }

  function drawnResult() {
    const made = result();
    if (made && made.dataset.key === key && Number(made.dataset.turn) === turn) {
      searching = false;
      const found = numbers(made.dataset.taken);
      if (made.dataset.found === "1" && found.join() !== [...taken].sort((a, b) => a - b).join()) {
        past.push([...taken]);
        taken = new Set(found);
      }
    }
    draw();
  }

  document.addEventListener("change", (event) => {
    const box = event.target.closest("#rtv-evidence [data-away]");
    const list = event.target.closest("#rtv-evidence select[data-take]");
    if (box) {
      const places = new Set(taken);
      if (box.checked) places.add(Number(box.dataset.away));
      else places.delete(Number(box.dataset.away));
      take(places);
    } else if (list && list.value) {
      take([...taken, ...numbers(list.value)]);
      list.value = "";
    }
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-flip], [data-whatif]");
    if (!button || rtv.presenting) return;
    if (button.dataset.whatif === "undo") {
      taken = new Set(past.pop() || []);
      ask();
    } else if (button.dataset.whatif === "clear") take([]);
    else {
      searching = true;
      send("flip");
      draw();
      const sent = turn;
      setTimeout(() => {
        if (turn !== sent) return;
        searching = false;
        draw();
      }, SLOW);
    }
  });

  // Other knobs, other scores and another side of tau.
  const mark = rtv.mark;
  let later = 0;
  rtv.mark = (...knobs) => {
    mark?.(...knobs);
    clearTimeout(later);
    if (taken.size) later = setTimeout(ask, 150);
  };

  rtv.whatif = { taken: () => [...taken] };

  function start() {
    const parts = { "rtv-evidence": drawnEvidence, "rtv-whatif": drawnResult };
    const watched = new Set();
    const find = () => {
      for (const [id, drawn] of Object.entries(parts)) {
        const part = document.getElementById(id);
        if (!part || watched.has(id)) continue;
        watched.add(id);
        new MutationObserver(drawn).observe(part, { childList: true, subtree: true });
      }
      if (watched.size === 2) finding.disconnect();
    };
    const finding = new MutationObserver(find);
    finding.observe(document.body, { childList: true, subtree: true });
    find();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
