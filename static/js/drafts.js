// Keeps what is typed: in this browser at once, on the site a moment later. A text leaves the browser
// only when the site has exactly that text; what another tab wrote instead is offered, never lost.
// Pages without this file keep what the form's own button sends.
window.Drafts = (() => {
  "use strict";

  const PAUSE = 500; // milliseconds without a key before the site is told
  const AGAIN = 2000; // before a failed try is repeated; each further one waits longer
  const LONGEST_WAIT = 30000;
  const FIELDS = /^(comment|question-\d+|comment-.+|card-.+|text)$/;
  const BEGUN = "begun-";

  const mine = new Map(); // name → text, as it stands on this page
  const known = new Map(); // name → texts the site may have: the one it confirmed, then those sent
  const offers = new Map(); // name → another text for it
  const clashes = new Set(); // names of which the site has a text this page did not know
  let place = null;
  let problem = ""; // why the site does not have it
  let isInBrowser = true;
  let wasTyped = false;
  let timer, saving, failures = 0;

  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16).padStart(2, "0")).join("");
  const load = random();
  const account = () => document.querySelector('meta[name="account"]')?.content ?? "";
  const prefix = () => `faber-draft ${account()} ${place.url} `;
  const bell = () => `faber-draft-saved ${account()} ${place.url}`;

  const confirmed = (name) => known.get(name)?.[0] ?? "";
  const text = (name) => mine.get(name) ?? "";
  const unsaved = () => [...mine.keys()].filter((name) => text(name) !== confirmed(name));
  const sendable = () => unsaved().filter((name) => !clashes.has(name));

  // The fields

  const form = () => document.querySelectorAll("form[data-keeps]");
  const fieldOf = (name) => {
    for (const each of form()) {
      const found = each.elements.namedItem(name);
      if (found) return found;
    }
    return null;
  };
  const one = (field) => (field instanceof RadioNodeList ? field[0] : field);
  const read = (field) => {
    if (!(field instanceof RadioNodeList)) return field.value;
    if (field[0]?.type !== "checkbox") return field.value;
    return [...field].filter((box) => box.checked).map((box) => box.value).join("\n");
  };
  const fill = (field, value) => {
    if (!(field instanceof RadioNodeList)) {
      field.value = value;
      field.closest("details:not([open])")?.setAttribute("open", "");
    } else if (field[0]?.type === "checkbox") {
      for (const box of field) box.checked = value.split("\n").includes(box.value);
    } else {
      field.value = value;
    }
  };

  // The browser

  const entries = () => {
    const found = [];
    try {
      for (let at = 0; at < localStorage.length; at += 1) {
        const key = localStorage.key(at);
        if (key.startsWith(prefix())) found.push([key, JSON.parse(localStorage.getItem(key))]);
      }
    } catch { /* no storage, or not ours: the site still has what it confirmed */ }
    return found;
  };

  const store = (key, values) => {
    if (Object.keys(values).length === 0) {
      localStorage.removeItem(key);
      return;
    }
    const written = JSON.stringify(values);
    localStorage.setItem(key, written);
    if (localStorage.getItem(key) !== written) throw new Error("not stored");
  };

  const keepHere = () => {
    const at = Date.now();
    const values = {};
    for (const name of unsaved()) values[name] = { text: text(name), known: known.get(name) ?? [""], at };
    try {
      store(prefix() + load, values);
      isInBrowser = true;
    } catch {
      isInBrowser = false;
    }
  };

  const forgetElsewhere = (name, value) => {
    for (const [key, values] of entries()) {
      if (key === prefix() + load || (value !== undefined && values[name]?.text !== value)) continue;
      if (!(name in values)) continue;
      delete values[name];
      store(key, values);
    }
  };

  // What an earlier page, or another tab, kept here and the site does not have.
  const takeUp = () => {
    const left = entries().filter(([key]) => key !== prefix() + load)
      .flatMap(([, values]) => Object.entries(values).map(([name, entry]) => ({ name, ...entry })))
      .sort((a, b) => b.at - a.at);
    const taken = new Set();
    for (const { name, text: kept, known: before } of left) {
      if (kept === text(name)) {
        if (kept === confirmed(name)) forgetElsewhere(name, kept);
      } else if (!taken.has(name) && before.includes(confirmed(name)) && text(name) === confirmed(name)) {
        taken.add(name);
        mine.set(name, kept);
        wasTyped = true;
        const field = fieldOf(name);
        if (field) fill(field, kept);
      } else if (kept && name.startsWith(BEGUN)) {
        mine.set(BEGUN + random(), kept);
        forgetElsewhere(name, kept);
      } else if (kept) {
        offer(name, kept);
      }
    }
    if (taken.size) keepHere();
    for (const name of taken) forgetElsewhere(name, text(name));
  };

  // The site

  const token = () => document.querySelector('input[name="csrfmiddlewaretoken"]')?.value ?? "";

  const post = (sent, options) => fetch(place.url, {
    method: "POST",
    headers: { "X-CSRFToken": token(), Accept: "application/json" },
    body: new URLSearchParams({ draft: JSON.stringify(sent) }),
    ...options,
  });

  const whyNot = (status) => {
    if (status === 401) return "you are signed out";
    if (status === 403) return "you can’t comment here";
    return `the server returned ${status}`;
  };
  const whyNotReached = () => (navigator.onLine ? "the server is unreachable" : "you are offline");

  const toSend = (names) => Object.fromEntries(
    names.map((name) => [name, { text: text(name), known: known.get(name) ?? [""] }]));

  const send = async () => {
    const names = sendable();
    if (!names.length) return;
    const sent = toSend(names);
    // It may arrive though its answer does not: then the site has one of our own texts.
    for (const name of names) known.set(name, [...(known.get(name) ?? [""]), text(name)]);
    let answer;
    try {
      answer = await post(sent);
      if (answer.status === 403 && await Faber.renewToken()) answer = await post(sent);
      else if (answer.status === 403 && await Faber.isSignedOut()) answer = { status: 401 };
    } catch {
      problem = whyNotReached();
      return;
    }
    if (!answer.ok) {
      problem = whyNot(answer.status);
      return;
    }
    const { conflicts } = await answer.json();
    problem = "";
    for (const name of names) {
      if (name in conflicts) meet(name, conflicts[name]);
      else known.set(name, [sent[name].text]);
    }
    keepHere();
    try { localStorage.setItem(bell(), `${load} ${Date.now()}`); } catch { /* other tabs look when seen */ }
  };

  const save = () => {
    clearTimeout(timer);
    saving ??= send().finally(() => {
      saving = undefined;
      failures = problem ? failures + 1 : 0;
      tell();
      if (sendable().length) later(problem ? Math.min(LONGEST_WAIT, AGAIN * 2 ** (failures - 1)) : PAUSE);
    });
    tell();
    return saving;
  };

  const later = (wait = PAUSE) => {
    clearTimeout(timer);
    timer = setTimeout(save, wait);
  };

  const typed = (name, value) => {
    if (!place) return;
    wasTyped = true;
    mine.set(name, value);
    keepHere();
    tell();
    later();
  };

  // Another tab, or another machine

  const meet = (name, theirs) => {
    if (!name.startsWith(BEGUN)) {
      clashes.add(name);
      offer(name, theirs);
      return;
    }
    // Two comments were written from one beginning: both are kept.
    const own = BEGUN + random();
    mine.set(own, text(name));
    for (const hidden of document.querySelectorAll(`input[name="begun"][value="${CSS.escape(name)}"]`)) hidden.value = own;
    mine.set(name, theirs);
    known.set(name, [theirs]);
    changed();
  };

  const offer = (name, theirs) => {
    if (theirs === text(name)) return withdraw(name);
    offers.set(name, theirs);
    show(name);
    return undefined;
  };

  const withdraw = (name) => {
    offers.delete(name);
    clashes.delete(name);
    document.querySelector(`[data-offer="${CSS.escape(name)}"]`)?.remove();
  };

  const button = (label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "button";
    made.dataset.weight = "plain";
    made.textContent = label;
    made.addEventListener("click", act);
    return made;
  };

  const show = (name) => {
    document.querySelector(`[data-offer="${CSS.escape(name)}"]`)?.remove();
    const field = fieldOf(name);
    if (!field) return;
    const box = document.createElement("div");
    box.className = "notice offer";
    box.dataset.tone = "care";
    box.dataset.offer = name;
    box.setAttribute("role", "status");
    const said = document.createElement("p");
    said.textContent = "You also wrote this in another tab:";
    const quote = document.createElement("blockquote");
    quote.dir = "auto";
    quote.textContent = offers.get(name);
    const actions = document.createElement("p");
    actions.className = "offer-actions";
    actions.append(
      button("Use this text", () => use(name)),
      button("Discard", () => settle(name)),
    );
    box.append(said, quote, actions);
    (one(field).closest(".field") ?? one(field)).after(box);
  };

  // The text it replaces takes its place in the offer: only Discard drops one.
  const use = (name) => {
    const theirs = offers.get(name), before = text(name);
    withdraw(name);
    known.set(name, [...(known.get(name) ?? [""]), theirs]);
    fill(fieldOf(name), theirs);
    typed(name, theirs);
    if (before) {
      try { store(prefix() + random(), { [name]: { text: before, known: [], at: Date.now() } }); } catch { /* shown */ }
      offer(name, before);
    }
    one(fieldOf(name)).focus();
  };

  const settle = (name) => {
    const theirs = offers.get(name);
    withdraw(name);
    known.set(name, [...(known.get(name) ?? [""]), theirs]);
    forgetElsewhere(name, theirs);
    if (text(name) === confirmed(name)) known.set(name, [theirs]);
    keepHere();
    save();
    one(fieldOf(name))?.focus();
  };

  const compare = (values) => {
    for (const name of new Set([...Object.keys(values), ...mine.keys()])) {
      const theirs = values[name] ?? "";
      if (theirs === text(name)) {
        known.set(name, [theirs]);
        withdraw(name);
      } else if (!(known.get(name) ?? [""]).includes(theirs)) {
        if (name.startsWith(BEGUN)) takeIn(name, theirs);
        else if (theirs) meet(name, theirs);
      }
    }
    keepHere();
    changed();
  };

  const takeIn = (name, theirs) => {
    if (text(name) !== confirmed(name) && theirs) meet(name, theirs);
    else if (text(name) === confirmed(name)) {
      mine.set(name, theirs);
      known.set(name, [theirs]);
      // Where it stands in an open form: what is typed there next would take the place of theirs.
      if (theirs) document.dispatchEvent(new CustomEvent("continued", { detail: { name, fields: JSON.parse(theirs) } }));
    }
  };

  const look = async () => {
    if (!place || document.hidden) return;
    if (unsaved().length) await save();
    try {
      const answer = await fetch(place.url, { headers: { Accept: "application/json" }, redirect: "error" });
      if (answer.ok) compare((await answer.json()).values);
    } catch { /* not reached, or signed out: saving says so where it matters */ }
  };

  // What is shown

  const state = () => {
    if (!wasTyped) return "";
    const left = unsaved();
    if (!left.length) return "Draft saved";
    if (left.every((name) => clashes.has(name))) return isInBrowser ? "Draft saved in this browser" : "Draft not saved";
    if (!problem) return isInBrowser || saving ? "Saving…" : "Draft not saved";
    return isInBrowser ? `Draft saved in this browser only: ${problem}` : `Draft not saved: ${problem}`;
  };

  const tell = () => {
    const said = state();
    for (const shown of document.querySelectorAll("[data-draft-state]")) {
      if (shown.textContent !== said) shown.textContent = said;
    }
  };

  const changed = () => document.dispatchEvent(new CustomEvent("drafts"));

  // The page: its fields as they were brought, with what the site has kept of them.

  const begin = () => {
    const keeper = document.querySelector("form[data-keeps][data-drafts]");
    place = keeper ? { url: keeper.dataset.drafts } : null;
    if (!place) return;
    const kept = JSON.parse(keeper.dataset.kept);
    for (const [name, value] of Object.entries(kept)) {
      const isBegun = name.startsWith(BEGUN);
      if (isBegun && mine.has(name) && value !== text(name) && !known.get(name)?.includes(value)) {
        takeIn(name, value); // from another tab, and brought with this part before it was looked for
        continue;
      }
      if (isBegun && !mine.has(name)) mine.set(name, value);
      known.set(name, [value]);
    }
    for (const name of known.keys()) if (!(name in kept)) known.set(name, [""]);
    scan();
    takeUp();
    for (const name of offers.keys()) show(name);
    tell();
    changed();
    if (unsaved().length) later();
  };

  const names = () => new Set([...form()].flatMap((each) => [...each.elements].map((field) => field.name)).filter((name) => FIELDS.test(name)));
  const scan = () => {
    for (const name of names()) {
      const value = read(fieldOf(name)), kept = confirmed(name);
      // A browser may put back what it remembers, and a row that is brought anew has nothing typed.
      if (!mine.has(name) || value) mine.set(name, value || text(name) || kept);
      if (value !== text(name) && text(name)) fill(fieldOf(name), text(name));
    }
  };

  document.addEventListener("input", (event) => {
    const { form: owner, name } = event.target;
    if (owner?.matches?.("[data-keeps]") && FIELDS.test(name ?? "")) typed(name, read(fieldOf(name)));
  });
  document.addEventListener("change", (event) => {
    const { form: owner, name } = event.target;
    if (!owner?.matches?.("[data-keeps]") || !FIELDS.test(name ?? "")) return;
    typed(name, read(fieldOf(name)));
    save();
  });

  addEventListener("online", () => { failures = 0; save(); });
  addEventListener("offline", () => { if (place && unsaved().length) { problem = whyNotReached(); tell(); } });
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look();
    else if (place && unsaved().length) save();
  });
  addEventListener("storage", (event) => { if (place && event.key === bell()) look(); });
  addEventListener("pagehide", () => {
    const left = place ? sendable() : [];
    // Nobody hears the answer any more: the browser keeps it until the site is seen to have it.
    if (left.length) post(toSend(left), { keepalive: true }).catch(() => {});
  });
  addEventListener("pageshow", (event) => { if (event.persisted) look(); });
  addEventListener("beforeunload", (event) => { if (place && !isInBrowser && unsaved().length) event.preventDefault(); });
  document.addEventListener("DOMContentLoaded", begin);

  return {
    BEGUN,
    begin,
    typed,
    save,
    show: tell,
    name: () => BEGUN + random(),
    begun: () => [...mine].filter(([name, value]) => name.startsWith(BEGUN) && value)
      .map(([name, value]) => ({ name, fields: JSON.parse(value) })),
    // Nothing is under way any more when this is over, so that nothing can come after what follows.
    settled: async () => { clearTimeout(timer); await saving; clearTimeout(timer); },
    resume: () => { if (place && sendable().length) later(problem ? AGAIN : PAUSE); },
    // The site has taken these in another form.
    taken: (gone) => {
      for (const name of gone) {
        forgetElsewhere(name);
        mine.delete(name);
        known.delete(name);
        withdraw(name);
      }
      if (place) keepHere();
      wasTyped = unsaved().length > 0;
      tell();
      changed();
    },
    fields: () => [...names()],
    // The site answered with the whole form: it has what stands there, and the rest is on record.
    replaced: () => {
      const left = new Set(names());
      const gone = [...mine.keys()].filter((name) => FIELDS.test(name) && !left.has(name));
      for (const name of left) mine.set(name, read(fieldOf(name)));
      return gone;
    },
    discard: (name) => { typed(name, ""); save(); changed(); },
    why: whyNotReached,
  };
})();
