// Sending what was typed: nothing is sent while a draft is under way, what could not be sent says so
// where it stands, and Ctrl+Enter presses the button of the form one is in.
window.Sending = (() => {
  "use strict";

  const questions = []; // asked before a form is sent: (form, button) → false to stay
  let pressed = null;
  let isAsked = false;

  const isKept = (form) => form.matches?.("form[data-keeps]");

  document.addEventListener("htmx:confirm", async (event) => {
    const { elt: form, triggeringEvent } = event.detail;
    if (!isKept(form)) return;
    pressed = triggeringEvent?.submitter ?? null;
    if (isAsked) {
      isAsked = false;
      return;
    }
    event.preventDefault();
    const button = pressed;
    await Drafts.settled();
    const due = questions.filter((question) => question.applies(form, button));
    if (!due.length) {
      event.detail.issueRequest(true);
      return;
    }
    for (const question of due) {
      if (await question.ask(form, button)) continue;
      Drafts.resume();
      return;
    }
    // A question takes the focus, and htmx forgets the button with it: it is pressed once more.
    isAsked = true;
    button.click();
  });

  // A question as a dialog: resolves to the word of the button that was pressed.
  const ask = (title, text, answers) => new Promise((resolve) => {
    const before = document.activeElement;
    const dialog = document.createElement("dialog");
    dialog.className = "dialog asking";
    dialog.setAttribute("aria-labelledby", "question-title");
    const heading = document.createElement("h2");
    heading.id = "question-title";
    heading.textContent = title;
    const said = document.createElement("p");
    said.textContent = text;
    const actions = document.createElement("form");
    actions.method = "dialog";
    actions.className = "question-actions";
    answers.forEach(([value, label], at) => {
      const button = document.createElement("button");
      button.className = "button";
      button.dataset.weight = at === 0 ? "main" : "plain";
      button.value = value;
      button.textContent = label;
      actions.append(button);
    });
    dialog.append(heading, said, actions);
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });

  // What could not be sent

  const clear = (form) => form.querySelector(":scope .unsent")?.remove();

  document.addEventListener("unsent", (event) => {
    const form = event.target;
    if (!isKept(form)) return;
    event.preventDefault();
    clear(form);
    const button = pressed?.isConnected ? pressed : form.querySelector("button:not([type=button])");
    const notice = document.createElement("div");
    notice.className = "notice unsent";
    notice.dataset.tone = "bad";
    notice.setAttribute("role", "alert");
    const said = document.createElement("p");
    said.textContent = `Not sent, ${event.detail}.`;
    const retry = document.createElement("button");
    retry.type = "button";
    retry.className = "button";
    retry.dataset.weight = "plain";
    // A request may offer an answer of that name.
    retry.textContent = form.querySelector('[name="response"][value="retry"]') ? "Send again" : "Retry";
    retry.addEventListener("click", () => { notice.remove(); button?.click(); });
    notice.append(said, retry);
    (form.querySelector("#options, .remark-foot") ?? document.querySelector(`[data-unsent-of="${form.id}"]`) ?? form).before(notice);
  });
  document.addEventListener("htmx:afterRequest", (event) => { if (isKept(event.detail.requestConfig.elt)) Drafts.resume(); });
  document.addEventListener("htmx:beforeRequest", (event) => { if (isKept(event.detail.elt)) clear(event.detail.elt); });

  // Ctrl+Enter

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    const form = event.target.form;
    if (!isKept(form ?? document.body)) return;
    const sends = form.querySelectorAll('button[data-weight="main"]:not([type="button"])');
    if (sends.length !== 1) return;
    event.preventDefault();
    sends[0].click();
  });

  return { ask, before: (applies, question) => questions.push({ applies, ask: question }) };
})();
