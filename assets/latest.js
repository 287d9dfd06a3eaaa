// Events of which only the last counts: one request at a time goes out, then the newest of those meant meanwhile.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.latest) return;

  const LOST = 30000; // ms after which an answer is no longer waited for
  const sent = {}; // by event, the request under way: its data, and when it left
  const next = {}; // by event, how to send what was asked for since
  const told = []; // who is told of answers

  // Gradio's way to call the server, made one that sends a request of these events only once the last was answered.
  // Data that is a function is called when the request leaves.
  rtv.latest = (trigger, names) => (name, data = {}) => {
    const made = () => (typeof data === "function" ? data() : data);
    if (!names.includes(name)) return trigger(name, made());
    const dispatch = () => {
      const now = made();
      sent[name] = { data: now, at: performance.now() };
      trigger(name, now);
    };
    if (sent[name] && performance.now() - sent[name].at < LOST) next[name] = dispatch;
    else dispatch();
  };

  // Called by the page once the answer to an event is drawn, or was an error.
  rtv.answered = (name) => {
    const data = sent[name]?.data;
    delete sent[name];
    if (data) told.forEach((listener) => listener(name, data));
    const dispatch = next[name];
    delete next[name];
    dispatch?.();
  };
  rtv.onAnswer = (listener) => told.push(listener);
})();
