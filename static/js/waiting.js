// Every page counts the open requests, also in a hidden tab: in the bar, the title and the icon.
// A `waiting` event on the document tells other scripts of each change:
// detail = { count, before, version }.
(() => {
  "use strict";

  const SEEN = 10_000;
  const HIDDEN = 20_000;
  const UNREACHABLE = 60_000;

  const badge = () => document.getElementById("open-count"); // htmx brings new ones
  const icon = document.querySelector('link[rel="icon"][data-counts]');
  if (!badge() || !icon) return;

  // The page itself may bring a newer badge, so what it says is what is known.
  const known = () => ({
    count: Number(badge().dataset.count),
    version: badge().dataset.v,
    shown: badge().querySelector("[data-number]").textContent,
  });

  const show = () => {
    const { count, shown } = known();
    const bare = document.title.replace(/^\([\d,]+\+?\) /, "");
    const title = count ? `(${shown}) ${bare}` : bare;
    if (document.title !== title) document.title = title;
    const address = icon.dataset.counts.replace("/0.", `/${Math.min(count, 10)}.`);
    if (icon.getAttribute("href") !== address) icon.setAttribute("href", address);
  };

  let told = known();
  const tell = () => {
    show();
    const now = known();
    if (now.version === told.version) return;
    const before = told.count;
    told = now;
    document.dispatchEvent(new CustomEvent("waiting", { detail: { ...now, before } }));
  };

  const take = ({ count, shown, version }) => {
    const now = badge();
    now.dataset.count = count;
    now.dataset.v = version;
    now.hidden = !count;
    now.querySelector("[data-number]").textContent = shown;
    tell();
  };

  let next;
  const ask = async () => {
    clearTimeout(next);
    let wait = document.hidden ? HIDDEN : SEEN;
    try {
      const address = `${badge().dataset.url}?v=${encodeURIComponent(known().version)}`;
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      if (answer.status === 200 && !answer.redirected) take(await answer.json());
      else if (answer.status !== 204) wait = UNREACHABLE;
    } catch {
      wait = UNREACHABLE; // the page's own requests say so; a count that is old harms nobody
    }
    clearTimeout(next);
    next = setTimeout(ask, wait);
  };

  show();
  next = setTimeout(ask, document.hidden ? HIDDEN : SEEN);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  // What htmx brings may hold a new badge or a title of its own.
  document.addEventListener("htmx:afterSettle", tell);
})();
