// Sets the chosen color scheme before the page is drawn.
"use strict";
try {
  const chosen = localStorage.getItem("tenure-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is not available: the scheme of the system is used */ }
