// Live pages: when the service has something new, the page is fetched again and merged, so that focus, scroll
// position and open details stay. Long tables keep the rows near the screen only. Nothing here is needed to read.
"use strict";
(() => {
  const KEEP = ".chunked tbody, .ask, #pause, #theme, input, select, [data-live]";
  const main = document.getElementById("main");
  const pause = document.getElementById("pause");
  const status = document.getElementById("status");
  const timings = (window.tenureTimings = []);
  let isPaused = false, isStale = false, isBusy = false, version = document.body.dataset.version;

  const parse = (text) => new DOMParser().parseFromString(text, "text/html");
  const get = async (url) => {
    const response = await fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!response.ok && response.status !== 404) throw new Error(response.statusText);
    return parse(await response.text());
  };
  const withParameter = (url, name, value) => {
    const changed = new URL(url, location.href);
    changed.searchParams.set(name, value);
    return changed.href;
  };
  const isSame = (before, after) => before.isEqualNode && before.isEqualNode(after);
  const merge = (before, after) =>
    Idiomorph.morph(before, after, {
      morphStyle: "outerHTML",
      ignoreActiveValue: true,
      callbacks: {
        beforeNodeMorphed(old, next) {
          if (old.nodeType !== Node.ELEMENT_NODE) return true;
          if (old !== before && old.matches(KEEP)) return false;
          if (old.localName === "details" && old.open) next.setAttribute("open", "");
          return !isSame(old, next);
        },
        beforeNodeRemoved: (node) => !(node.nodeType === Node.ELEMENT_NODE && node.matches("tbody[data-chunk]")),
      },
    });

  // Times go on between updates.
  const rough = (seconds) => {
    for (const [size, unit, below, part] of [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]]) {
      if (seconds >= size) {
        const rest = Math.floor((seconds % size) / below);
        return `${Math.floor(seconds / size)}${unit}${rest && seconds < 10 * size ? ` ${rest}${part}` : ""}`;
      }
    }
    return `${seconds}s`;
  };
  let drawnAt = performance.now();
  const tick = () => {
    if (isPaused) return;
    const passed = Math.floor((performance.now() - drawnAt) / 1000);
    if (!passed) return;
    for (const time of main.querySelectorAll("time[data-age]")) {
      const text = rough(Number(time.dataset.age) + passed);
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of main.querySelectorAll("time[data-left]")) {
      const left = Math.max(0, Number(time.dataset.left) - passed);
      const text = left ? `in ${rough(left)}` : "now";
      if (time.textContent !== text) time.textContent = text;
    }
  };
  setInterval(tick, 1000);

  // Long tables: one tbody for each chunk of rows; those far from the screen are empty and have a height.
  const table = main.querySelector("table.chunked");
  let observer = null;
  const size = table ? Number(table.dataset.size) : 0;
  const chunk = (index) => table.querySelector(`tbody[data-chunk="${index}"]`);
  const load = async (body) => {
    const fetched = await get(withParameter(table.dataset.rows, "start", Number(body.dataset.chunk) * size));
    const rows = fetched.querySelector("tbody");
    if (!rows || !body.isConnected) return;
    rows.dataset.filled = "1";
    if (body.dataset.filled) merge(body, rows);
    else {
      body.replaceChildren(...rows.childNodes);
      body.dataset.filled = "1";
    }
  };
  const empty = (body) => {
    if (!body.dataset.filled || body.contains(document.activeElement)) return;
    const height = body.getBoundingClientRect().height;
    delete body.dataset.filled;
    fill(body, height);
  };
  const fill = (body, height) => {
    const row = document.createElement("tr"), cell = document.createElement("td");
    row.className = "spacer";
    row.setAttribute("aria-hidden", "true");
    cell.colSpan = 20;
    cell.style.height = `${height}px`;
    row.append(cell);
    body.replaceChildren(row);
  };
  const layOut = () => {
    const total = Number(table.dataset.total), number = Math.max(1, Math.ceil(total / size));
    const known = main.querySelector("tbody[data-filled]");
    const rows = known ? known.rows.length : 1;
    const height = known && rows ? known.getBoundingClientRect().height / rows : 40;
    for (const body of [...table.tBodies]) if (Number(body.dataset.chunk) >= number) body.remove();
    for (let index = 0; index < number; index++) {
      if (chunk(index)) continue;
      const body = document.createElement("tbody");
      body.dataset.chunk = index;
      fill(body, height * Math.min(size, total - index * size));
      const after = [...table.tBodies].find((other) => Number(other.dataset.chunk) > index);
      table.insertBefore(body, after || null);
      observer.observe(body);
    }
  };
  if (table) {
    for (const body of table.tBodies) body.dataset.filled = "1";
    observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) empty(target);
        else if (!target.dataset.filled) load(target).catch(() => {});
      }
    }, { rootMargin: "1200px" });
    const first = Number(table.dataset.start);
    for (const body of table.tBodies) observer.observe(body);
    layOut();
    if (first) chunk(first / size).scrollIntoView();
  }

  // Parts that ask the service: loaded on their own, and again when the state changed, at most every ten seconds.
  let askedAt = 0;
  const ask = async (element, url) => {
    try {
      const fetched = await get(url);
      const answer = fetched.getElementById("answer");
      if (answer) {
        answer.removeAttribute("id");
        element.replaceChildren(answer);
      }
    } catch { /* the link stays */ }
  };
  const askAll = () => {
    if (performance.now() - askedAt < 10000 && askedAt) return;
    askedAt = performance.now();
    for (const element of main.querySelectorAll(".ask[data-load]")) ask(element, element.dataset.load);
  };
  main.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-get]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.setAttribute("aria-busy", "true");
    ask(link.closest(".ask"), link.href);
  });

  const update = async () => {
    if (isBusy || isPaused || document.hidden || main.querySelector("form#form")) {
      isStale = true;
      return;
    }
    isBusy = true;
    isStale = false;
    try {
      const url = table ? withParameter(location.href, "part", "frame") : location.href;
      const fetched = await get(url);
      const began = performance.now();
      const next = fetched.getElementById("main");
      if (next) {
        const live = next.querySelector("[data-live]"), own = main.querySelector("[data-live]");
        if (live && own) own.replaceChildren(...live.childNodes);
        if (table) table.dataset.total = next.querySelector("table.chunked")?.dataset.total ?? table.dataset.total;
        merge(main, next);
        drawnAt = performance.now();
      }
      let took = performance.now() - began;
      if (table) {
        layOut();
        const filled = [...table.tBodies].filter((body) => body.dataset.filled);
        for (const body of filled) took += await timedLoad(body);
      }
      version = fetched.body.dataset.version || version;
      document.body.dataset.version = version;
      timings.push(took);
      if (timings.length > 200) timings.shift();
      askAll();
    } catch { isStale = true; } finally {
      isBusy = false;
    }
  };
  const timedLoad = async (body) => {
    const fetched = await get(withParameter(table.dataset.rows, "start", Number(body.dataset.chunk) * size));
    const began = performance.now(), rows = fetched.querySelector("tbody");
    if (rows && body.isConnected) {
      rows.dataset.filled = "1";
      merge(body, rows);
    }
    return performance.now() - began;
  };

  const events = document.body.dataset.events;
  if (events) {
    const source = new EventSource(events);
    source.onmessage = (message) => {
      if (message.data !== version) update();
    };
    pause.hidden = false;
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      pause.textContent = isPaused ? "Resume" : "Pause";
      status.textContent = isPaused ? "Updates are paused." : "Updates go on.";
      if (!isPaused) update();
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && isStale) update();
    });
    askAll();
  } else setTimeout(() => location.reload(), 5000);

  document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // Filters apply as they are chosen.
  const filters = document.getElementById("filters");
  if (filters) filters.addEventListener("change", () => filters.requestSubmit());

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("tenure-theme", root.dataset.theme); } catch { /* only for this page */ }
  });
})();
