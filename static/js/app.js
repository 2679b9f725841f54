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

  // Nobody looks at a hidden tab; it asks again when it is seen. And news for a part that was
  // replaced meanwhile is older than what stands there now.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.detail.elt;
    if (!part.matches('[hx-trigger^="every"]')) return;
    if (document.hidden) {
      event.preventDefault();
      return;
    }
    part.addEventListener("htmx:beforeOnLoad", (news) => {
      if (!part.isConnected) news.preventDefault();
    }, { once: true });
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

  document.addEventListener("theme", (event) => {
    document.documentElement.dataset.theme = event.detail.name;
    for (const button of document.querySelectorAll('.segments [name="theme"]')) {
      button.setAttribute("aria-pressed", String(button.value === event.detail.name));
    }
  });

  const openMenus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    if (event.target.matches("dialog.dialog")) event.target.close();
  });

  // One place decides whether a key is a command: never in a field, with a modifier, in a dialog,
  // or when switched off. Scripts of pages listen for `shortcut` and prevent its default when
  // they have acted.
  const KEYS_OFF = "faber-keys-off";
  const FIELD = 'input:not([type="checkbox"], [type="radio"]), select, textarea, [contenteditable]';
  const keysOn = document.getElementById("keys-on");
  if (keysOn) {
    keysOn.checked = !localStorage.getItem(KEYS_OFF);
    document.documentElement.toggleAttribute("data-keys-off", !keysOn.checked);
    keysOn.addEventListener("change", () => {
      if (keysOn.checked) localStorage.removeItem(KEYS_OFF);
      else localStorage.setItem(KEYS_OFF, "1");
      document.documentElement.toggleAttribute("data-keys-off", !keysOn.checked);
    });
  }

  const isCommand = (event) => keysOn?.checked && !event.defaultPrevented && !event.isComposing
    && !event.ctrlKey && !event.metaKey && !event.altKey
    && !event.target.closest?.(FIELD) && !document.querySelector("dialog[open]");

  let prefix = "";
  let forgetting;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      for (const menu of openMenus()) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    }
    if (!isCommand(event) || event.key === "Shift") return;
    const detail = prefix + event.key;
    clearTimeout(forgetting);
    prefix = "";
    if (detail === "g") {
      prefix = "g ";
      forgetting = setTimeout(() => { prefix = ""; }, 1200);
      return;
    }
    const command = new CustomEvent("shortcut", { detail, cancelable: true });
    if (!document.dispatchEvent(command)) event.preventDefault();
  });

  document.addEventListener("shortcut", (event) => {
    if (event.detail === "?") {
      keysOn.closest("dialog").showModal();
    } else if (event.detail === "/") {
      const search = document.querySelector('[role="search"] input[name="q"]');
      if (!search) return;
      search.focus();
      search.select();
    } else if (event.detail.startsWith("g ")) {
      const link = document.querySelector(`nav [data-key="${CSS.escape(event.detail.slice(2))}"]`);
      if (!link) return;
      link.click();
    } else {
      return;
    }
    event.preventDefault();
  });
})();
