"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const content = JSON.parse($("content").textContent);
  const methods = content.summary.map((row) => row.method);
  const state = { method: content.choice.method, axes: 2, colour: "class", picked: null, marked: [], hidden: new Set(), turn: { azimuth: 0.6, elevation: 0.45 }, waiting: false, dragged: false };

  // Colours of Okabe and Ito, told apart by colour-blind readers; two are changed where they would vanish on the ground.
  const COLOURS = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a7a00", "#2b2b2b"],
    dark: ["#4aa3df", "#ff7f2a", "#16c795", "#e298c3", "#8fd3ff", "#ffb733", "#f0e442", "#e4e4e4"],
  };
  const SYMBOLS = ["circle", "diamond-open", "square", "circle-open", "diamond", "square-open"];  // told apart where they are small
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const isNarrow = () => window.innerWidth < 700;
  const BELOW = { orientation: "h", x: 0, xanchor: "left", y: -0.22, yanchor: "top" };  // on a phone a legend beside a plot leaves no plot
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
      legend: { font: { size: 12.5 }, itemsizing: "constant", ...(isNarrow() ? BELOW : {}) }, modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("--soft"), activecolor: variable("--accent") },
      ...more,
    };
  }

  const draw = (id, traces, more, buttons) =>
    Plotly.react(id, traces, layout(more), { responsive: true, displaylogo: false, displayModeBar: buttons ? "hover" : false, modeBarButtons: buttons ? [buttons] : [] });

  // ---- embedding ----

  const ALL = content.points.rows.map((_, i) => i);
  function byCode(codes, names) {
    const found = names.map((name, code) => ({ name, code, members: [] }));
    const unknown = { name: "unknown", code: -1, members: [] };
    codes.forEach((code, i) => (code < 0 ? unknown : found[code]).members.push(i));
    return [unknown, ...found].filter((group) => group.members.length);
  }

  function groups() {  // points that share a colour
    const { labels, predicted } = content.points;
    if (state.colour === "class" && labels) return byCode(labels, content.classNames);
    if (state.colour === "prediction") return byCode(predicted[state.method], content.classNames);
    return [{ name: "rows", code: 0, members: ALL }];
  }

  function fillColours() {
    const options = [["class", content.points.labels ? "class" : "none"]];
    if (content.points.predicted) options.push(["prediction", "prediction on held-out rows"]);
    const isNumber = (j) => content.samples.values.every((row) => row[j] === null || typeof row[j] === "number");
    if (content.samples.kind === "row") content.samples.names.forEach((name, j) => { if (isNumber(j)) options.push([`feature ${j}`, name]); });
    $("colour").replaceChildren(...options.map(([value, text]) => { const option = element("option", text); option.value = value; return option; }));
  }

  const featureShown = () => (state.colour.startsWith("feature ") ? Number(state.colour.slice(8)) : null);

  function coordinates() {
    const axes = content.points.embeddings[state.method].slice(0, state.axes);
    return { dimensions: axes.length, axes };
  }

  // Three dimensions are turned and drawn flat: Plotly's own 3-D evaluates strings, which the policy of this page forbids.
  function turned([x, y, z]) {  // of a point of the cube from -1 to 1, what lies to the right and above
    const { azimuth, elevation } = state.turn, deep = x * Math.cos(azimuth) + y * Math.sin(azimuth);
    return [y * Math.cos(azimuth) - x * Math.sin(azimuth), z * Math.cos(elevation) - deep * Math.sin(elevation)];
  }

  function intoCube(values) {
    const finite = values.filter((v) => v !== null), least = Math.min(...finite), most = Math.max(...finite);
    return values.map((v) => (v === null ? null : most > least ? (2 * (v - least)) / (most - least) - 1 : 0));
  }

  function cube(axes) {
    const [x, y, z] = axes.map(intoCube);
    const seen = x.map((_, i) => ([x[i], y[i], z[i]].includes(null) ? [null, null] : turned([x[i], y[i], z[i]])));
    return [seen.map((point) => point[0]), seen.map((point) => point[1])];
  }

  function cubeAxes() {  // from one corner, each with its name at its end
    const corner = [-1, -1, -1], ends = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]];
    const points = ends.flatMap((end) => [turned(corner), turned(end), [null, null]]);
    return {
      type: "scatter", mode: "lines+text", x: points.map((p) => p[0]), y: points.map((p) => p[1]), hoverinfo: "skip", showlegend: false, name: "axes",
      text: ends.flatMap((_, k) => ["", `dimension ${k + 1}`, ""]), textposition: "top center", textfont: { size: 11, color: variable("--soft") }, line: { color: variable("--line"), width: 1.5 },
    };
  }

  function place(axes, dimensions, members) {  // in one dimension points lie below the histograms, or as high as the feature shown
    const j = featureShown();
    const height = (i) => (dimensions > 1 ? axes[1][i] : j === null ? 0 : content.samples.values[i][j]);
    return { x: members.map((i) => axes[0][i]), y: members.map(height) };
  }

  function histograms(values) {  // one per colour, over the same bins
    const finite = values.filter((v) => v !== null), start = Math.min(...finite), size = (Math.max(...finite) - start) / 30 || 1;
    return groups().map(({ name, code, members }) => ({
      type: "histogram", x: members.map((i) => values[i]), customdata: members, name: plain(short(name, 28)), showlegend: false, visible: !state.hidden.has(code),
      xbins: { start, size, end: Math.max(...finite) + size }, opacity: 0.65, marker: { color: code < 0 ? variable("--soft") : colour(code) },
      hovertemplate: "%{y} rows<extra>%{fullData.name}</extra>",
    }));
  }

  function pointTraces(axes, dimensions) {
    const size = ALL.length > 800 ? 5 : 7;
    const j = featureShown();
    const base = (members) => ({ type: "scatter", mode: "markers", hoverinfo: "none", customdata: members, showlegend: false, ...place(axes, dimensions, members) });
    if (dimensions === 1 && j === null) return [...histograms(axes[0]), ...marks(base)];
    const traces = j !== null
      ? [{ ...base(ALL), marker: { size, opacity: 0.85, color: ALL.map((i) => content.samples.values[i][j]), colorscale: "Viridis", line: { width: 0 }, colorbar: { thickness: 9, outlinewidth: 0, len: 0.6, tickfont: { size: 10, color: variable("--soft") } } } }]
      : groups().map(({ name, code, members }) => ({
        ...base(members), name: plain(short(name, 28)), visible: !state.hidden.has(code),
        marker: {
          color: code < 0 ? variable("--soft") : colour(code), symbol: code < 0 ? "circle-open" : symbol(code),
          size: size + (code >= 8 ? 1 : 0), opacity: code < 0 ? 0.45 : 0.8, line: { width: 0 },
        },
      }));
    return [...traces, ...marks(base)];
  }

  function marks(base) {  // rings around what was clicked, its neighbours before and after, and what was found
    const ring = (members, name, tone, size, shape) => ({
      ...base(members), name, marker: { color: tone, symbol: shape, size, line: { width: 2.2, color: tone } },
    });
    const found = [];
    if (state.marked.length) found.push(ring(state.marked, "found", variable("--accent"), 13, "square-open"));
    if (state.picked !== null) {
      const { near, nearAfter } = content.points;
      found.push(ring(near[state.picked], "neighbours before", "#d55e00", 12, "diamond-open"));
      found.push(ring(nearAfter[state.method][state.picked], "neighbours after", variable("--accent"), 15, "circle-open"));
      found.push(ring([state.picked], "picked", variable("--ink"), 17, "circle-open"));
    }
    return found;
  }

  const BUTTONS = { flat: ["toImage", "zoom2d", "pan2d", "select2d", "lasso2d", "resetScale2d"], deep: ["toImage"] };
  const flatLayout = (x, y) => ({ xaxis: x, yaxis: y, hovermode: "closest", hoverdistance: 12, barmode: groups().length > 3 ? "stack" : "overlay", bargap: 0, margin: { l: 45, r: 10, t: 34, b: 42 } });
  const heightOfOne = () => axis(featureShown() === null ? "rows" : $("colour").selectedOptions[0].textContent);

  function drawMap() {
    const own = state.method === content.choice.method, d = content.choice.dimension;
    $("map-title").textContent = own ? `Map of ${d === 1 ? "the one dimension" : d === 2 ? "both dimensions" : `all ${d} dimensions`}` : `Map of ${content.choice.method}, which is recommended`;
    $("map-note").textContent = d > 2
      ? `A t-SNE of the ${d}-dimensional space: what is near here is near there; distances between groups mean little.`
      : "The space itself.";
    const bare = { showticklabels: false, showgrid: false }, flat = { ...flatLayout(axis("", bare), axis("", bare)), margin: { l: 10, r: 10, t: 34, b: 10 } };
    draw("plot-map", pointTraces(content.points.map, Math.min(d, 2)), { ...(d === 1 ? flatLayout(axis("dimension 1"), heightOfOne()) : flat), uirevision: "map" }, BUTTONS.flat);
  }

  function drawEmbedding() {
    const { dimensions, axes } = coordinates();
    const names = (k) => `dimension ${k}`;
    $("axes-title").textContent = `${state.method}: axes`;
    const flat = flatLayout(axis(names(1)), dimensions === 1 ? heightOfOne() : axis(names(2)));
    const bare = (more) => axis("", { visible: false, fixedrange: true, range: [-1.9, 1.9], ...more });
    const deep = { ...flatLayout(bare(), bare({ scaleanchor: "x" })), margin: { l: 5, r: 5, t: 34, b: 5 }, dragmode: false };
    const traces = dimensions === 3 ? [...pointTraces(cube(axes), 2), cubeAxes()] : pointTraces(axes, dimensions);
    draw("plot-embedding", traces, { ...(dimensions === 3 ? deep : flat), uirevision: state.method + dimensions }, dimensions === 3 ? BUTTONS.deep : BUTTONS.flat);
    const few = dimensions < state.axes || dimensions === 1;
    $("embedding-note").textContent = few
      ? `${state.method} has ${dimensions} dimension${dimensions === 1 ? " here" : "s at most here"}.`
      : `The first ${dimensions} dimensions alone, fitted to all rows and scaled separately.${dimensions === 3 ? " Drag, or press the arrow keys, to turn them." : ""}`;
    $("plot-embedding").dataset.shown = `${state.method}/${dimensions}`;
  }

  function turn(across, up) {
    state.turn = { azimuth: state.turn.azimuth - across, elevation: Math.max(-1.5, Math.min(1.5, state.turn.elevation + up)) };
    if (!state.waiting) requestAnimationFrame(() => { state.waiting = false; drawEmbedding(); });
    state.waiting = true;
  }

  function letTurn(plot) {  // by the pointer and by the keyboard
    const isDeep = () => plot.dataset.shown.endsWith("/3");
    let held = null;
    plot.addEventListener("pointerdown", (event) => { held = isDeep() ? [event.clientX, event.clientY] : null; state.dragged = false; });
    addEventListener("pointermove", (event) => {
      if (!held) return;
      state.dragged = true;
      turn((event.clientX - held[0]) / 150, (event.clientY - held[1]) / 150);
      held = [event.clientX, event.clientY];
    });
    ["pointerup", "pointercancel"].forEach((name) => addEventListener(name, () => { held = null; }));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!step || !isDeep()) return;
      event.preventDefault();
      turn(...step);
    });
  }

  function drawLegend() {
    const shown = featureShown() === null ? groups() : [];
    $("legend").replaceChildren(...(shown.length > 1 ? shown : []).map(({ name, code }) => {
      const button = element("button"), dot = element("span", "", "dot"), tone = code < 0 ? variable("--soft") : colour(code);
      dot.style.background = tone;
      dot.style.borderColor = tone;
      dot.classList.toggle("open", code < 0 || symbol(code).endsWith("open"));
      button.type = "button";
      button.setAttribute("aria-pressed", String(state.hidden.has(code)));
      button.title = "Hide or show";
      button.append(dot, short(name, 28));
      button.addEventListener("click", () => {
        if (!state.hidden.delete(code)) state.hidden.add(code);
        drawPoints();
      });
      return button;
    }));
    if (shown.length > 48) $("legend").append(element("span", "More than 48 classes: colours and shapes repeat.", "hint"));
  }

  function drawPoints() {
    const axes = $("plot-embedding").parentElement, isSame = state.method === content.choice.method && content.choice.dimension === 1;
    const changed = axes.hidden !== isSame;
    axes.hidden = isSame;
    $("plot-map").parentElement.classList.toggle("whole", isSame);
    drawMap();
    drawEmbedding();
    drawLegend();
    if (changed) dispatchEvent(new Event("resize"));  // pictures take the new width
  }

  // ---- neighbours, search and selection ----

  function nearList(title, places, others) {
    const list = element("ul", undefined, "near"), { points, classNames, samples } = content;
    list.append(...places.map((i) => {
      const line = element("li", undefined, others.includes(i) ? "both" : ""), button = element("button", points.ids[i]);
      button.type = "button";
      button.addEventListener("click", () => pick(i));
      if (samples.kind === "image") line.append(picture(samples.sprite, i, 26));
      line.append(button);
      if (points.labels) line.append(element("span", points.labels[i] < 0 ? "unknown" : short(classNames[points.labels[i]], 22)));
      return line;
    }));
    return [element("h3", title), list];
  }

  function showNeighbours() {
    $("near").hidden = state.picked === null;
    if (state.picked === null) return;
    const { near, nearAfter, predicted } = content.points;
    const before = near[state.picked], after = nearAfter[state.method][state.picked];
    const parts = [...nearList("Nearest before", before, after), ...nearList(`Nearest in ${state.method}`, after, before)];
    parts.push(element("p", `${before.filter((i) => after.includes(i)).length} of ${before.length} in both, in bold; among the points drawn.`, "hint"));
    const code = predicted ? predicted[state.method][state.picked] : -1;
    if (code >= 0) parts.unshift(element("p", `predicted while held out: ${content.classNames[code]}`, "hint"));
    $("near").replaceChildren(...parts);
  }

  function pick(i) {
    state.picked = i;
    showSample(i);
    showNeighbours();
    drawMap();
    drawEmbedding();
  }

  function select(members, what) {
    $("selection").hidden = !members.length;
    $("selection").open = members.length > 0;
    $("selection-title").textContent = `${members.length.toLocaleString("en")} row${members.length === 1 ? "" : "s"} ${what}`;
    $("ids").value = members.map((i) => content.points.ids[i]).join("\n");
    $("ids-copied").textContent = "";
  }

  function search(text) {
    const wanted = text.trim().toLowerCase(), { ids } = content.points;
    const exact = ALL.filter((i) => ids[i].toLowerCase() === wanted);
    state.marked = wanted ? (exact.length ? exact : ALL.filter((i) => ids[i].toLowerCase().includes(wanted))) : [];
    $("found").textContent = wanted ? `${state.marked.length} found` : "";
    if (state.marked.length) showSample(state.marked[0]);
    drawMap();
    drawEmbedding();
  }

  async function copied(text, status) {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "Copied.";
    } catch {
      status.textContent = "Select the text and press Ctrl+C.";
    }
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
      line.append(head, element("td", values[i][j] === null ? "" : String(values[i][j])));
    });
    return table;
  }

  function showSample(i) {
    const { samples, points, classNames } = content;
    const box = $("sample"), label = points.labels ? points.labels[i] : null;
    $("row").value = i + 1;
    const parts = [];
    if (samples.kind === "image") {
      const canvas = picture(samples.sprite, i, 200);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `image of row ${points.ids[i]}`);
      parts.push(canvas);
    }
    if (label !== null) parts.push(element("p", label < 0 ? "unknown class" : classNames[label], "class"));
    parts.push(element("p", `row ${points.ids[i]}`, "id"));
    if (samples.kind === "text") parts.push(element("p", samples.texts[i], "text"));
    if (samples.kind === "row") {
      parts.push(rowTable(samples, i));
      if (samples.names.length < samples.of) parts.push(element("p", `${samples.names.length} of ${samples.of} columns: those that weigh most in the recommended projection`, "hint"));
    }
    box.replaceChildren(...parts);
    box.dataset.point = i;
  }

  // ---- scores, components, confusion, code ----

  function drawScores() {
    const measure = $("measure").value, { scores } = content;
    const most = Math.max(...methods.map((m) => scores[m].dimensions.at(-1))), least = Math.min(...methods.map((m) => scores[m].dimensions[0]));
    const traces = methods.map((name, i) => {
      const { dimensions, mean, se } = scores[name], bold = name === content.choice.method;
      return {
        type: "scatter", mode: "lines+markers", name: plain(name), x: dimensions, y: mean[measure].map((v) => 100 * v),
        error_y: { type: "data", array: se[measure].map((v) => 100 * v), thickness: 1.1, width: 3 },
        line: { color: colour(i), width: bold ? 3.2 : 1.7, dash: DASHES[Math.floor(i / 8) % 4] }, marker: { size: bold ? 8 : 6, symbol: SYMBOLS[i % SYMBOLS.length] },
        hovertemplate: "%{y:.1f} ± %{error_y.array:.1f} %, %{x} dimensions",
      };
    });
    const isOfNeighbours = ["trustworthiness", "continuity", "recall"].includes(measure);  // all columns have 100 %
    content.lines.filter((line) => measure in line && !isOfNeighbours).forEach((line, i) => {
      const level = 100 * line[measure];
      traces.push({
        type: "scatter", mode: "lines", name: plain(line.method), x: [least, most], y: [level, level], hovertemplate: "%{y:.1f} %",
        line: { color: variable("--soft"), width: 1.4, dash: ["dash", "dot", "longdash"][i] },
      });
    });
    const ticks = [...new Set(methods.flatMap((m) => scores[m].dimensions))].sort((a, b) => a - b);
    const apart = ticks.filter((d, i) => i === 0 || i === ticks.length - 1 || Math.log(d / ticks[i - 1]) > 0.15);
    $("plot-scores").style.height = isNarrow() ? `${Math.max(430, 60 + 42 * traces.length)}px` : "";  // a legend below takes half at most
    draw("plot-scores", traces, {
      xaxis: axis("dimensions", { type: "log", tickvals: apart, ticktext: apart.map(String), minor: {}, range: least < most ? [Math.log10(least) - 0.03 * Math.log10(most / least), Math.log10(most) + 0.03 * Math.log10(most / least)] : undefined }),
      yaxis: axis(`${content.measures.find((m) => m.key === measure).name}, %`, $("close").checked ? { range: closeUp(traces) } : {}),
      hovermode: "closest", legend: { font: { size: 12.5 }, itemsizing: "trace", ...(isNarrow() ? BELOW : {}) },
    });
  }

  function closeUp(traces) {  // from a little below each method's best to the top
    const best = traces.map((trace) => Math.max(...trace.y)), low = Math.min(...best), high = Math.max(...best);
    const margin = Math.max(1, 0.25 * (high - low));
    return [low - 3 * margin, Math.min(high + margin, 101)];
  }

  function drawComponents() {
    const found = content.madeOf[state.method], bars = found !== null && found.kind !== "image";
    $("component-controls").hidden = $("plot-component").hidden = !bars;
    $("component-images").replaceChildren();
    if (found === null) {
      $("component-note").textContent = `${state.method} has no directions to show here.`;
    } else if (bars) {
      $("component").replaceChildren(...found.names.map((_, k) => { const option = element("option", String(k + 1)); option.value = k; return option; }));
      $("component-controls").hidden = found.names.length < 2;
      $("component-note").textContent = (found.kind === "loading"
        ? "The columns that weigh most. A bar is the weight of a column, times its standard deviation: how much the dimension rises when the column does, if all others stay."
        : "The columns that go along with the dimension most, by their correlation with it.")
        + (found.low ? " Whiskers hold 95 % of what fits to random halves of the rows give: where they do not cross 0, the sign is certain." : "");
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
    const { names, values, low, high, kind } = content.madeOf[state.method], k = Number($("component").value), own = values[k];
    const whiskers = low ? { error_x: { type: "data", symmetric: false, array: own.map((v, i) => Math.max(0, high[k][i] - v)), arrayminus: own.map((v, i) => Math.max(0, v - low[k][i])), color: variable("--ink"), thickness: 1.2, width: 3 } } : {};
    $("plot-component").style.height = `${90 + 26 * own.length}px`;
    draw("plot-component", [{
      type: "bar", orientation: "h", x: own, y: names[k].map((_, i) => i), marker: { color: own.map((w) => colour(w > 0 ? 1 : 0)) },
      hovertext: names[k].map(plain), hovertemplate: "%{hovertext}: %{x:.3f}<extra></extra>", ...whiskers,
    }], {
      xaxis: axis(kind), yaxis: axis("", { autorange: "reversed", showgrid: false, tickvals: names[k].map((_, i) => i), ticktext: names[k].map((n) => plain(short(n, isNarrow() ? 16 : 40))) }),
      bargap: 0.35, showlegend: false,
    });
  }

  function drawClasses() {
    const { classNames: names, classSizes: sizes } = content;
    if (!names) return;
    draw("plot-classes", [{
      type: "bar", x: names.map((_, i) => i), y: sizes, marker: { color: names.map((_, i) => colour(i)) },
      hovertext: names.map(plain), hovertemplate: "%{hovertext}: %{y} rows<extra></extra>",
    }], {
      xaxis: axis("", { showgrid: false, tickvals: names.length <= 40 ? names.map((_, i) => i) : [], ticktext: names.map((name) => plain(short(name, 14))) }), yaxis: axis("rows"), bargap: 0.2, showlegend: false,
    });
  }

  function drawConfusion() {
    if (!content.confusion) return;
    const counts = content.confusion[state.method], places = counts.map((_, i) => i);
    const share = counts.map((row) => { const n = row.reduce((a, b) => a + b, 0); return row.map((v) => (n ? (100 * v) / n : 0)); });
    const { dimension } = content.summary.find((row) => row.method === state.method);
    $("confusion-note").textContent = `Predictions on held-out rows, ${state.method} with ${dimension} dimension${dimension === 1 ? "" : "s"}. Colour is the share of the true class; the numbers count rows.`;
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
    drawPoints();
    showNeighbours();
    drawComponents();
    drawConfusion();
    $("program").textContent = content.code[state.method];
    $("copied").textContent = "";
  }

  function drawAll() {
    drawMethod();
    drawScores();
    drawClasses();
  }

  // ---- light and dark ----

  const preference = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(dark));
    if (window.Plotly) drawAll();
  }

  fillColours();
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
  const samplesOf = (point) => (point.pointNumbers ? point.pointNumbers.map((k) => point.data.customdata[k]) : [point.customdata]);  // a bar has several
  ["plot-map", "plot-embedding"].forEach((id) => {
    $(id).on("plotly_hover", (event) => showSample(samplesOf(event.points[0])[0]));
    $(id).on("plotly_click", (event) => { if (!state.dragged) pick(samplesOf(event.points[0])[0]); });
    $(id).on("plotly_selected", (event) => {
      if (event) select([...new Set(event.points.flatMap(samplesOf))].sort((a, b) => a - b), "in the lasso");
    });
  });
  document.querySelectorAll("table.numbers tbody td").forEach((cell) => {  // for narrow pages
    const before = [...cell.parentNode.cells].slice(0, cell.cellIndex).reduce((sum, other) => sum + other.colSpan, 0);
    cell.dataset.column = cell.closest("table").tHead.rows[0].cells[before].textContent;
  });
  $("colour").addEventListener("change", (event) => { state.colour = event.target.value; state.hidden.clear(); drawPoints(); });
  $("search").addEventListener("input", (event) => search(event.target.value));
  $("search").addEventListener("keydown", (event) => { if (event.key === "Enter" && state.marked.length) pick(state.marked[0]); });
  $("copy-ids").addEventListener("click", () => copied($("ids").value, $("ids-copied")));
  $("clear-ids").addEventListener("click", () => { select([], ""); drawPoints(); });
  addEventListener("resize", () => { if (isNarrow() !== state.narrow) { state.narrow = isNarrow(); drawAll(); } });
  $("method").addEventListener("change", (event) => { state.method = event.target.value; drawMethod(); });
  $("measure").addEventListener("change", drawScores);
  $("close").addEventListener("change", drawScores);
  $("component").addEventListener("change", drawBars);
  document.querySelectorAll('input[name="axes"]').forEach((radio) =>
    radio.addEventListener("change", () => { state.axes = Number(radio.value); drawEmbedding(); }));
  letTurn($("plot-embedding"));
  state.narrow = isNarrow();
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
