// Shows a notification for each new request that waits for whoever is signed in, also from a
// hidden tab. It is asked for once, by a button on the page of notices, for this browser alone.
(() => {
  "use strict";

  const KEY = "faber-notify";
  const account = document.querySelector('meta[name="account"]')?.content;
  const address = document.querySelector('meta[name="newest"]')?.content;
  if (!account || !address || !("Notification" in window)) return;

  const wants = () => localStorage.getItem(KEY) === account;
  const isOn = () => wants() && Notification.permission === "granted";

  let after = null; // the last request this page knows of
  const look = async () => {
    const query = after === null ? "" : `?after=${after}`;
    try {
      const answer = await fetch(address + query, { headers: { Accept: "application/json" } });
      if (answer.status !== 200 || answer.redirected) return;
      const { newest, requests } = await answer.json();
      after = newest;
      requests.reverse().forEach(show);
    } catch {
      // Out of reach: the next change brings it.
    }
  };

  // The same tag in two tabs is one notification.
  const show = ({ id, title, project, url }) => {
    const note = new Notification(title, { body: `${project} waits for your decision`, tag: id });
    note.addEventListener("click", () => {
      window.focus();
      window.location.assign(url);
      note.close();
    });
  };

  const begin = () => { if (isOn() && after === null) look(); };
  document.addEventListener("waiting", () => { if (isOn()) look(); });
  begin();

  // The button, where there is one.
  const pane = document.querySelector("[data-notify]");
  if (!pane) return;
  const [state, on, off] = ["state", "on", "off"].map((name) => pane.querySelector(`[data-notify-${name}]`));
  const draw = () => {
    pane.hidden = false;
    const denied = Notification.permission === "denied";
    state.textContent = denied
      ? "This browser blocks notifications from this site. Allow them in its settings."
      : isOn() ? "You are notified here while a page of FABER is open." : "Off in this browser.";
    on.hidden = denied || isOn();
    off.hidden = !isOn();
  };
  on.addEventListener("click", async () => {
    if (Notification.permission !== "granted") await Notification.requestPermission();
    if (Notification.permission === "granted") localStorage.setItem(KEY, account);
    draw();
    begin();
  });
  off.addEventListener("click", () => {
    localStorage.removeItem(KEY);
    draw();
  });
  draw();
})();
