// Inside the frame of a diagram: draws the source that the page around it sends. The frame has an
// origin of its own, so whatever a diagram makes of Mermaid stays in here.
(() => {
  "use strict";

  const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
  const SIZE = 15, SMALLEST = 8; // of its letters, in pixels
  const LOOKS = {
    light: {
      background: "#ffffff", primaryColor: "#eef0fc", primaryTextColor: "#1b1b1a", primaryBorderColor: "#4c63db",
      secondaryColor: "#e8f4ed", tertiaryColor: "#f3f3f1", edgeLabelBackground: "#ffffff", lineColor: "#5f5d58", textColor: "#1b1b1a",
      noteBkgColor: "#fcf3e3", noteTextColor: "#1b1b1a", noteBorderColor: "#d68c1f",
    },
    dark: {
      darkMode: true,
      background: "#1a1b1e", primaryColor: "#20253c", primaryTextColor: "#ececea", primaryBorderColor: "#8aa0ff",
      secondaryColor: "#16291f", tertiaryColor: "#222327", edgeLabelBackground: "#1a1b1e", lineColor: "#a3a29e", textColor: "#ececea",
      noteBkgColor: "#2d2415", noteTextColor: "#ececea", noteBorderColor: "#e0a850",
    },
  };

  const board = document.getElementById("drawing");
  const tell = (news) => parent.postMessage({ faber: "diagram", ...news }, "*");
  const measure = () => {
    board.toggleAttribute("tabindex", false);
    if (board.scrollWidth > board.clientWidth) board.tabIndex = 0; // keys scroll what has the focus
    tell({ height: board.offsetHeight });
  };

  const draw = async (source, theme) => {
    document.documentElement.dataset.theme = theme;
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      suppressErrorRendering: true,
      maxTextSize: 50000,
      theme: "base",
      themeVariables: { fontFamily: FONT, fontSize: `${SIZE}px`, ...LOOKS[theme] },
    });
    try {
      const { svg } = await mermaid.render("drawn", source);
      board.innerHTML = svg;
    } catch (error) {
      tell({ problem: String(error?.message ?? error).split("\n")[0].replace(/:$/, "").slice(0, 300) });
      return;
    }
    const drawn = board.querySelector("svg");
    // It shrinks to its place, but is moved sideways rather than made too small to read.
    drawn.style.minWidth = `${Math.round((SMALLEST / SIZE) * drawn.viewBox.baseVal.width)}px`;
    if (!drawn.getAttribute("aria-labelledby")) drawn.setAttribute("aria-label", "Diagram");
    measure();
  };

  let last = Promise.resolve();
  addEventListener("message", (event) => {
    const { source, theme } = event.data ?? {};
    if (event.source !== parent || typeof source !== "string") return;
    // One after the other: Mermaid keeps what it draws with in one place.
    last = last.then(() => draw(source, theme === "dark" ? "dark" : "light"));
  });
  addEventListener("resize", () => { if (board.firstChild) measure(); });
  tell({ ready: true });
})();
