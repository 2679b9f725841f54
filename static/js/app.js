// Comfort only: every page works without this file.
(() => {
  "use strict";

  // The same words as `age` in runs/templatetags/words.py.
  const age = (then, now) => {
    const seconds = Math.max(0, Math.floor((now - then) / 1000));
    if (seconds < 45) return "just now";
    for (const [most, unit, name] of [[3600, 60, "min"], [86400, 3600, "h"], [14 * 86400, 86400, "d"]]) {
      if (seconds < most) return `${Math.max(1, Math.floor(seconds / unit))} ${name} ago`;
    }
    return null;
  };

  const refreshAges = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const words = age(Date.parse(time.dateTime), now);
      if (words && time.textContent !== words) time.textContent = words;
    }
  };
  setInterval(refreshAges, 15000);

  const toast = document.getElementById("toast");
  let hiding;
  const say = (sentence) => {
    clearTimeout(hiding);
    if (toast.textContent !== sentence) toast.textContent = sentence;
    toast.hidden = false;
    hiding = setTimeout(() => { toast.hidden = true; }, 8000);
  };

  const isPoll = (event) => event.detail.elt.matches('[hx-trigger^="every"]');

  // Nobody looks at a hidden tab; it asks again when it is seen.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && isPoll(event)) event.preventDefault();
  });

  // A whole page, such as the one for signing in, never replaces a part: what is typed stays.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const text = event.detail.serverResponse || "";
    if (!/^\s*<!doctype/i.test(text)) return;
    event.detail.shouldSwap = false;
    const heading = new DOMParser().parseFromString(text, "text/html").querySelector("h1");
    say(event.detail.xhr.responseURL.includes("/login/")
      ? "You are signed out. Sign in in another tab; what you wrote stays here."
      : heading ? heading.textContent : "That did not work.");
  });

  document.addEventListener("htmx:responseError", (event) => {
    say(`That did not work (${event.detail.xhr.status}). Load the page again to see what counts.`);
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, () => say("The server cannot be reached. It is tried again."));
  }
})();
