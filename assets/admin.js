// The Admin page: each click is an event, and the server draws the whole page anew.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.adminReady) return;

  const DOUBLE = 400; // ms within which the same click counts once
  const SLOW = 30000; // ms after which an unanswered click is said to be so
  let send = null;
  let watched = null;
  let askedAt = -SLOW;
  let again = null; // what to focus after the page was drawn
  let waiting = 0;
  let clicked = "";
  let clickedAt = 0;

  const part = () => document.getElementById("rtv-admin-board");
  const buttons = (name) => [...part().querySelectorAll(`button[data-admin="${name}"]`)];

  function ask(name, data = {}) {
    if (!send || !part()) return;
    askedAt = performance.now();
    part().dataset.busy = "1";
    part().setAttribute("aria-busy", "true");
    clearTimeout(waiting);
    waiting = setTimeout(lost, SLOW);
    send(name, data);
  }

  function lost() {
    const line = document.createElement("p");
    line.className = "rtv-message error";
    line.setAttribute("role", "alert");
    line.textContent = "The server does not answer yet. See whether it still runs, then reload the page.";
    part().querySelector(".said")?.replaceChildren(line);
    calm();
  }

  function calm() {
    clearTimeout(waiting);
    delete part().dataset.busy;
    part().removeAttribute("aria-busy");
  }

  function drawn() {
    if (!part().querySelector(".rtv-admin")) return;
    calm();
    if (!again) return;
    const found = buttons(again.name);
    const next = found[Math.min(again.at, found.length - 1)] || buttons("board")[0];
    again = null;
    if (next) next.focus({ preventScroll: true });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("#rtv-admin-board button[data-admin]");
    if (!button || "busy" in part().dataset) return;
    const { admin: name, queue, place, annotator } = button.dataset;
    const what = [name, queue, place, annotator].join(" ");
    if (clicked === what && performance.now() - clickedAt < DOUBLE) return;
    clicked = what;
    clickedAt = performance.now();
    again = { name, at: buttons(name).indexOf(button) };
    ask(name, name === "release" ? { queue, place: Number(place), annotator } : {});
  });

  // Called by the page's bridge; a tab that appears late has its bridge before its part is on the page.
  rtv.adminReady = () => {
    send = rtv.toAdmin;
    if (!part()) {
      setTimeout(rtv.adminReady, 30);
      return;
    }
    if (watched !== part()) {
      watched = part();
      new MutationObserver(drawn).observe(watched, { childList: true, subtree: true });
    }
    if (rtv.page && rtv.page() === "admin") ask("board");
  };

  // Called once it is known whether the tab is for this person: a link to it may have come too early.
  rtv.adminShown = () => {
    if (new URLSearchParams(location.search).get("page") !== "admin" || rtv.page() === "admin") return;
    setTimeout(() => document.getElementById("rtv-admin-button")?.click(), 0);
  };

  rtv.onPage((page) => {
    if (page === "admin" && performance.now() - askedAt > 1000) ask("board");
  });
})();
