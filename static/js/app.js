// Comfort only: every page works without this file.
(() => {
  "use strict";

  // The same words as `age` in runs/templatetags/words.py.
  const age = (then, now) => {
    const seconds = Math.floor(Math.abs(now - then) / 1000);
    if (seconds < 45) return "just now";
    const units = [[3600, 60, "min", 60, ""], [86400, 3600, "h", 60, "min"], [14 * 86400, 86400, "d", 3600, "h"]];
    for (const [most, unit, name, part, partName] of units) {
      if (seconds >= most) continue;
      const measure = `${Math.max(1, Math.floor(seconds / unit))} ${name}`;
      if (then <= now) return `${measure} ago`;
      const rest = Math.floor((seconds % unit) / part);
      return rest && unit > part ? `in ${measure} ${rest} ${partName}` : `in ${measure}`;
    }
    return null;
  };

  // Times in the reader's zone; the server's own, in UTC, stays behind them.
  const DAY = { day: "numeric", month: "short", year: "numeric" };
  const asDay = new Intl.DateTimeFormat("en-GB", DAY);
  const asMoment = new Intl.DateTimeFormat("en-GB", { ...DAY, hour: "2-digit", minute: "2-digit", second: "2-digit" });

  const refreshTimes = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-ago], time[data-exact]")) {
      const then = Date.parse(time.dateTime);
      const words = time.hasAttribute("data-exact") ? asMoment.format(then) : age(then, now) ?? asDay.format(then);
      if (time.textContent !== words) time.textContent = words;
    }
  };
  refreshTimes();
  setInterval(refreshTimes, 15000);
  for (const name of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(name, refreshTimes);

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
    if (!isPoll(part)) return;
    if (document.hidden) {
      event.preventDefault();
      return;
    }
    part.addEventListener("htmx:beforeOnLoad", (news) => {
      if (!part.isConnected) news.preventDefault();
    }, { once: true });
  });

  // Signing in again gives forms a new token: it is taken from a fresh copy of the page, if that is
  // still the same account's. True when the forms of this page can be sent again.
  const TOKENS = 'input[name="csrfmiddlewaretoken"]';
  const renewToken = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const copy = new DOMParser().parseFromString(await answer.text(), "text/html");
    const account = (page) => page.querySelector('meta[name="account"]')?.content;
    const token = copy.querySelector(TOKENS)?.value;
    if (!token || !account(document) || account(copy) !== account(document)) return false;
    for (const field of document.querySelectorAll(TOKENS)) field.value = token;
    return true;
  };
  // Without its cookies a browser is refused for the token, before anybody asks for the account.
  const isSignedOut = async () => (await fetch(location.href)).url.includes("/login/");
  window.Faber = { renewToken, isSignedOut };

  const SIGNED_OUT = "you are signed out. Sign in in another tab; your text stays here";
  const isPoll = (element) => element.matches('[hx-trigger^="every"]');

  // What asks for news sends nothing of the reader's: it is not told as something that was not sent,
  // and not at all where that is told already.
  const noNews = (why) => {
    if (document.querySelector(".unsent")) return;
    const sentence = `${why[0].toUpperCase()}${why.slice(1)}.`;
    say(why === SIGNED_OUT ? sentence : `${sentence} This page is not updating.`);
  };

  // What could not be sent stays on the page; a form that has a place for it says so there.
  const notSent = (element, why) => {
    if (isPoll(element)) {
      noNews(why);
      return;
    }
    const told = new CustomEvent("unsent", { bubbles: true, cancelable: true, detail: why });
    if (element.dispatchEvent(told)) say(`Not sent, ${why}.`);
    else toast.hidden = true;
  };

  // Once more with a new token, once: pressing the same button again does the same as the person.
  const sendAgain = async (element, button) => {
    if (element.dataset.renewed) return false;
    element.dataset.renewed = "1";
    try {
      if (!await renewToken()) return false;
    } catch {
      return false;
    }
    if (button) button.click();
    else if (element.matches("form")) element.requestSubmit();
    else element.click();
    return true;
  };
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.xhr.status !== 403) delete event.detail.elt.dataset.renewed;
  });

  // A whole page, such as the one for signing in, never replaces a part: what is typed stays.
  document.addEventListener("htmx:beforeSwap", async (event) => {
    const { serverResponse, xhr, requestConfig } = event.detail;
    const { elt } = requestConfig; // the event's own is the part that would be replaced
    if (!/^\s*<!doctype/i.test(serverResponse || "")) return;
    event.detail.shouldSwap = false;
    const shown = new DOMParser().parseFromString(serverResponse, "text/html");
    if (xhr.status === 401 || xhr.responseURL.includes("/login/")) {
      notSent(elt, SIGNED_OUT);
    } else if (shown.querySelector("[data-token-refused]")) {
      const button = requestConfig.triggeringEvent?.submitter;
      if (await sendAgain(elt, button)) return;
      notSent(elt, await isSignedOut() ? SIGNED_OUT : "your session changed. Reload the page; your text is saved");
    } else {
      say(shown.querySelector("h1")?.textContent ?? "That did not work.");
    }
  });

  document.addEventListener("htmx:responseError", (event) => {
    notSent(event.detail.elt, `the server returned ${event.detail.xhr.status}`);
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      notSent(event.detail.elt, navigator.onLine ? "the server is unreachable" : "you are offline");
    });
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
