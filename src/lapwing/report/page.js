"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const content = JSON.parse($("content").textContent);
  const methods = content.summary.map((row) => row.method);
  const state = { method: content.choice.method, axes: 2 };

  // Colours of Okabe and Ito, told apart by colour-blind readers; two are changed where they would vanish on the ground.
  const COLOURS = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a7a00", "#2b2b2b"],
    dark: ["#4aa3df", "#ff7f2a", "#16c795", "#e298c3", "#8fd3ff", "#ffb733", "#f0e442", "#e4e4e4"],
  };
  const SYMBOLS = ["circle", "diamond-open", "square", "circle-open", "diamond", "square-open"];  // those that 3-D can draw in any font
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const colour = (i) => COLOURS[isDark() ? "dark" : "light"][i % 8];
  const symbol = (i) => SYMBOLS[Math.floor(i / 8) % SYMBOLS.length];
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Plotly reads a little HTML in names; these are to be read as they are.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  async function loadPlotly() {
    const packed = Uint8Array.from(atob($("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    $("plotly").remove();
  }

  function axis(title, more) {
    return {
      title: { text: title, font: { size: 13, color: variable("--soft") }, standoff: 10 },
      gridcolor: variable("--line"), linecolor: variable("--line"), zeroline: false, tickfont: { size: 12, color: variable("--soft") },
      automargin: true, ...more,
    };
  }

  function layout(more) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 55, r: 15, t: 12, b: 48 },
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: variable("--ink") },
      hoverlabel: { bgcolor: variable("--raised"), bordercolor: variable("--line"), font: { color: variable("--ink"), size: 13 } },
      legend: { font: { size: 12.5 }, itemsizing: "constant" }, modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("--soft"), activecolor: variable("--accent") },
      ...more,
    };
  }

  const draw = (id, traces, more, buttons) =>
    Plotly.react(id, traces, layout(more), { responsive: true, displaylogo: false, displayModeBar: buttons ? "hover" : false, modeBarButtons: buttons ? [buttons] : [] });

  // ---- embedding ----

  function groups() {
    const labels = content.points.labels;
    const all = content.points.rows.map((_, i) => i);
    if (!labels) return [{ name: "samples", code: 0, members: all }];
    const found = content.classes.map((name, code) => ({ name, code, members: [] }));
    const unknown = { name: "unknown", code: -1, members: [] };
    labels.forEach((code, i) => (code < 0 ? unknown : found[code]).members.push(i));
    return [unknown, ...found].filter((group) => group.members.length);
  }
  const GROUPS = groups();

  function coordinates() {
    const stored = content.points.embeddings[state.method];
    const most = Math.max(...Object.keys(stored).map(Number));
    const dimensions = Math.min(state.axes, most);
    return { dimensions, axes: (stored[dimensions] || stored[most]).slice(0, dimensions) };
  }

  function spreadOut(i) {  // a place across the axis for points of one dimension: classes in rows, the same every time
    const code = content.points.labels ? content.points.labels[i] : 0;
    return code + 0.7 * (((i + 1) * 0.618034) % 1 - 0.5);
  }

  function drawEmbedding() {
    const { dimensions, axes } = coordinates();
    const size = content.points.rows.length > 800 ? 5 : 7;
    const traces = GROUPS.map(({ name, code, members }) => ({
      type: dimensions === 3 ? "scatter3d" : "scatter", mode: "markers", name: plain(short(name, 28)), hoverinfo: "none", customdata: members,
      x: members.map((i) => axes[0][i]),
      y: members.map((i) => (dimensions === 1 ? spreadOut(i) : axes[1][i])),
      ...(dimensions === 3 ? { z: members.map((i) => axes[2][i]) } : {}),
      marker: {
        color: code < 0 ? variable("--soft") : colour(code), symbol: code < 0 ? "circle-open" : symbol(code),
        size: (dimensions === 3 ? size - 2 : size) + (code >= 8 ? 1 : 0), opacity: code < 0 ? 0.45 : 0.8, line: { width: 0 },
      },
    }));
    const names = (k) => `component ${k}`;
    const flat = { xaxis: axis(names(1)), yaxis: dimensions === 1 ? axis("", { visible: false }) : axis(names(2)), hovermode: "closest", hoverdistance: 12, margin: { l: 55, r: 15, t: 34, b: 48 } };
    const scene = (k) => axis(names(k), { backgroundcolor: "rgba(0,0,0,0)", showspikes: false, tickfont: { size: 10, color: variable("--soft") } });
    const deep = { scene: { xaxis: scene(1), yaxis: scene(2), zaxis: scene(3), aspectmode: "cube", camera: { eye: { x: 1.05, y: 1.05, z: 0.8 } } }, margin: { l: 0, r: 0, t: 34, b: 0 } };
    draw("plot-embedding", traces, {
      ...(dimensions === 3 ? deep : flat), showlegend: GROUPS.length > 1, uirevision: state.method + dimensions,
    }, dimensions === 3 ? ["toImage", "orbitRotation", "pan3d", "resetCameraDefault3d"] : ["toImage", "zoom2d", "pan2d", "resetScale2d"]);
    const few = dimensions < state.axes || dimensions === 1;
    $("embedding-note").textContent = few
      ? `${state.method} has ${dimensions} dimension${dimensions === 1 ? " here; points are spread across it by class" : "s at most here"}.`
      : GROUPS.length > 48 ? "More than 48 classes: colours and shapes repeat." : "Fitted to all rows. Axes are scaled separately.";
    $("plot-embedding").dataset.shown = `${state.method}/${dimensions}`;
  }

  // ---- one sample ----

  const sprites = new Map();
  function sprite(url) {
    if (!sprites.has(url)) {
      const image = new Image();
      sprites.set(url, new Promise((done) => { image.onload = () => done(image); }));
      image.src = url;
    }
    return sprites.get(url);
  }

  function picture(sheet, i, size) {
    const scale = size / Math.max(sheet.width, sheet.height);
    const canvas = element("canvas");
    canvas.width = Math.round(sheet.width * scale);
    canvas.height = Math.round(sheet.height * scale);
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = Math.max(sheet.width, sheet.height) > 32;
    sprite(sheet.url).then((image) => {
      const x = (i % sheet.columns) * sheet.width, y = Math.floor(i / sheet.columns) * sheet.height;
      pen.drawImage(image, x, y, sheet.width, sheet.height, 0, 0, canvas.width, canvas.height);
    });
    return canvas;
  }

  function rowTable({ names, values }, i) {
    const table = element("table"), body = table.createTBody();
    names.forEach((name, j) => {
      const line = body.insertRow(), head = element("th", name);
      head.scope = "row";
      line.append(head, element("td", String(values[i][j])));
    });
    return table;
  }

  function showSample(i) {
    const { samples, points, classes } = content;
    const box = $("sample"), label = points.labels ? points.labels[i] : null;
    $("row").value = i + 1;
    const parts = [];
    if (samples.kind === "image") {
      const canvas = picture(samples.sprite, i, 200);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `image of row ${points.ids[i]}`);
      parts.push(canvas);
    }
    if (label !== null) parts.push(element("p", label < 0 ? "unknown class" : classes[label], "class"));
    parts.push(element("p", `row ${points.ids[i]}`, "id"));
    if (samples.kind === "text") parts.push(element("p", samples.texts[i], "text"));
    if (samples.kind === "row") {
      parts.push(rowTable(samples, i));
      if (samples.names.length < samples.of) parts.push(element("p", `${samples.names.length} of ${samples.of} features: those that weigh most in the recommended projection`, "hint"));
    }
    box.replaceChildren(...parts);
    box.dataset.point = i;
  }

  // ---- scores, spectrum, components, graph, confusion, code ----

  function drawScores() {
    const measure = $("measure").value, { baseline, scores } = content;
    const most = Math.max(...methods.map((m) => scores[m].dimensions.at(-1)));
    const traces = methods.map((name, i) => {
      const { dimensions, mean, se } = scores[name], bold = name === content.choice.method;
      return {
        type: "scatter", mode: "lines+markers", name: plain(name), x: dimensions, y: mean[measure].map((v) => 100 * v),
        error_y: { type: "data", array: se[measure].map((v) => 100 * v), thickness: 1.1, width: 3 },
        line: { color: colour(i), width: bold ? 3.2 : 1.7, dash: DASHES[Math.floor(i / 8) % 4] }, marker: { size: bold ? 8 : 6, symbol: SYMBOLS[i % SYMBOLS.length] },
        hovertemplate: "%{y:.1f} ± %{error_y.array:.1f} %, %{x} dimensions",
      };
    });
    const flat = 100 * baseline.mean[measure];
    if (content.measures.findIndex((m) => m.key === measure) < content.measures.length - 3) traces.push({
      type: "scatter", mode: "lines", name: plain(baseline.name), x: [1, most], y: [flat, flat], hovertemplate: "%{y:.1f} %",
      line: { color: variable("--soft"), width: 1.4, dash: "dash" },
    });
    const ticks = [...new Set(methods.flatMap((m) => scores[m].dimensions))].sort((a, b) => a - b);
    const apart = ticks.filter((d, i) => i === 0 || i === ticks.length - 1 || Math.log(d / ticks[i - 1]) > 0.15);
    draw("plot-scores", traces, {
      xaxis: axis("dimensions", { type: "log", tickvals: apart, ticktext: apart.map(String), minor: {} }),
      yaxis: axis(`${content.measures.find((m) => m.key === measure).name}, %`, $("close").checked ? { range: closeUp(traces) } : {}),
      hovermode: "closest", legend: { font: { size: 12.5 }, itemsizing: "trace" },
    });
  }

  function closeUp(traces) {  // from a little below each method's best to the top
    const best = traces.map((trace) => Math.max(...trace.y)), low = Math.min(...best), high = Math.max(...best);
    const margin = Math.max(1, 0.25 * (high - low));
    return [low - 3 * margin, Math.min(high + margin, 101)];
  }

  function drawSpectrum() {
    const { values, kind, chosen } = content.spectra[state.method];
    $("spectrum-title").textContent = kind === "Eigenvalue" ? "Eigenvalues" : "Share of the variance";
    $("spectrum-note").textContent = kind === "Eigenvalue"
      ? "In the order of the components: the smallest eigenvalues of the method's problem come first. Components right of the line are not used at the chosen dimension."
      : "Components right of the line are not used at the chosen dimension.";
    draw("plot-spectrum", [{
      type: "bar", x: values.map((_, i) => i + 1), y: values, marker: { color: values.map((_, i) => (i < chosen ? colour(0) : variable("--line"))) },
      hovertemplate: "component %{x}: %{y:.4g}<extra></extra>",
    }], {
      xaxis: axis("component", { showgrid: false, ...(values.length < 12 ? { dtick: 1 } : {}) }), yaxis: axis(kind.toLowerCase()), bargap: 0.25, showlegend: false,
      shapes: chosen < values.length ? [{ type: "line", x0: chosen + 0.5, x1: chosen + 0.5, y0: 0, y1: 1, yref: "paper", line: { color: variable("--soft"), width: 1.5, dash: "dot" } }] : [],
    });
  }

  function drawComponents() {
    const found = content.components[state.method], bars = found !== null && found.kind === "bars";
    $("component-controls").hidden = $("plot-component").hidden = !bars;
    $("component-images").replaceChildren();
    if (found === null) {
      $("component-note").textContent = `${state.method} has no matrix of directions to show.`;
    } else if (bars) {
      $("component").replaceChildren(...found.names.map((_, k) => { const option = element("option", String(k + 1)); option.value = k; return option; }));
      $("component-note").textContent = "The features with the largest entries, by absolute value.";
      drawBars();
    } else {
      $("component-note").textContent = "Orange entries are positive, blue negative, white 0; each over its own range.";
      $("component-images").append(...Array.from({ length: found.count }, (_, k) => {
        const figure = element("figure");
        figure.append(picture(found.sprite, k, 112), element("figcaption", String(k + 1)));
        return figure;
      }));
    }
  }

  function drawBars() {
    const { names, weights } = content.components[state.method], k = Number($("component").value);
    draw("plot-component", [{
      type: "bar", orientation: "h", x: weights[k], y: names[k].map((_, i) => i), marker: { color: weights[k].map((w) => colour(w > 0 ? 1 : 0)) },
      hovertext: names[k].map(plain), hovertemplate: "%{hovertext}: %{x:.4g}<extra></extra>",
    }], {
      xaxis: axis("entry"), yaxis: axis("", { autorange: "reversed", showgrid: false, tickvals: names[k].map((_, i) => i), ticktext: names[k].map((n) => plain(short(n, 26))) }),
      bargap: 0.35, showlegend: false,
    });
  }

  function drawDegrees() {
    if (!content.graphs.length) return;
    draw("plot-degrees", content.graphs.map((graph, i) => ({
      type: "bar", name: plain(short(graph.graph, 40)), x: graph.degrees, y: graph.counts, marker: { color: colour(i) },
      hovertemplate: "%{y} samples with %{x} neighbours<extra></extra>",
    })), {
      xaxis: axis("neighbours of a sample", { showgrid: false }), yaxis: axis("samples"), bargap: 0.15, showlegend: content.graphs.length > 1,
      legend: { orientation: "h", y: 1.12, font: { size: 12 } },
    });
  }

  function drawConfusion() {
    if (!content.confusion) return;
    const counts = content.confusion[state.method], places = counts.map((_, i) => i);
    const share = counts.map((row) => { const n = row.reduce((a, b) => a + b, 0); return row.map((v) => (n ? (100 * v) / n : 0)); });
    const { dimension } = content.summary.find((row) => row.method === state.method);
    $("confusion-note").textContent = `One nearest neighbour on held-out rows, ${state.method} with ${dimension} dimension${dimension === 1 ? "" : "s"}. Colour is the share of the true class; the numbers count rows.`;
    const few = counts.length <= 15, names = content.classNames.map((name) => plain(short(name, 18)));
    const ticks = { showgrid: false, ...(counts.length <= 40 ? { tickvals: places, ticktext: names } : {}) };
    $("plot-confusion").style.height = `${Math.min(600, 220 + 40 * counts.length)}px`;
    draw("plot-confusion", [{
      type: "heatmap", z: share, x: places, y: places, zmin: 0, zmax: 100, xgap: 1, ygap: 1,
      colorscale: isDark() ? [[0, "#1b2024"], [0.02, "#22384a"], [1, "#6cbdea"]] : [[0, "#f6f8f9"], [0.02, "#dcebf4"], [1, "#005a8d"]],
      text: few ? counts.map((row) => row.map((v) => (v ? String(v) : ""))) : undefined, texttemplate: few ? "%{text}" : undefined,
      customdata: counts.map((row, i) => row.map((v, j) => [names[i], names[j], v])),
      hovertemplate: "%{customdata[0]} taken for %{customdata[1]}: %{customdata[2]} (%{z:.1f} %)<extra></extra>",
      colorbar: { thickness: 10, outlinewidth: 0, ticksuffix: " %", tickfont: { size: 11, color: variable("--soft") } },
    }], {
      xaxis: axis("predicted", { ...ticks, constrain: "domain" }), yaxis: axis("true", { ...ticks, autorange: "reversed", scaleanchor: "x", constrain: "domain" }),
    });
  }

  function drawMethod() {
    drawEmbedding();
    drawSpectrum();
    drawComponents();
    drawConfusion();
    $("program").textContent = content.code[state.method];
    $("copied").textContent = "";
  }

  function drawAll() {
    drawMethod();
    drawScores();
    drawDegrees();
  }

  // ---- light and dark ----

  const preference = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(dark));
    if (window.Plotly) drawAll();
  }

  setTheme(preference.matches);
  preference.addEventListener("change", (event) => setTheme(event.matches));
  $("theme").addEventListener("click", () => setTheme(!isDark()));
  try {
    await loadPlotly();
  } catch (error) {
    $("broken").hidden = false;
    $("broken").textContent = `The charts could not be unpacked (${error.message}): open this file in a browser of 2023 or later.`;
    throw error;
  }
  drawAll();
  showSample(0);
  $("plot-embedding").on("plotly_hover", (event) => showSample(event.points[0].customdata));
  $("method").addEventListener("change", (event) => { state.method = event.target.value; drawMethod(); });
  $("measure").addEventListener("change", drawScores);
  $("close").addEventListener("change", drawScores);
  $("component").addEventListener("change", drawBars);
  document.querySelectorAll('input[name="axes"]').forEach((radio) =>
    radio.addEventListener("change", () => { state.axes = Number(radio.value); drawEmbedding(); }));
  $("row").addEventListener("input", (event) => {
    const i = event.target.valueAsNumber - 1;
    if (Number.isInteger(i) && i >= 0 && i < content.points.rows.length) showSample(i);
  });
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText($("program").textContent);
      $("copied").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren($("program"));
      $("copied").textContent = "Selected: press Ctrl+C.";
    }
  });
  document.documentElement.dataset.ready = "yes";
})();
