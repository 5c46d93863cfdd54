/* The report page: draws charts when they come into view; switches worlds and policies. What the charts
   are is in the data, see report/chart.py; themes and tables are layout.js's. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const hidden = new Set(data.hidden);
  const config = {
    responsive: true,
    displaylogo: false,
    // Named one by one: the library's own choice has a button that sends the chart to a server.
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    plotlyServerURL: "",
  };

  const dark = () => root.dataset.theme === "dark";
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function template() {
    const axis = {
      title: { font: { size: 13 }, standoff: 10 }, ticklabelstandoff: 6, gridcolor: css("--grid"), zerolinecolor: css("--rule"), linecolor: css("--rule"),
      automargin: true, separatethousands: true,
    };
    return {
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: css("--text"), size: 13, family: getComputedStyle(document.body).fontFamily },
        xaxis: axis, yaxis: axis,
        hoverlabel: { bgcolor: css("--card"), bordercolor: css("--rule"), font: { color: css("--text") } },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--quiet"), activecolor: css("--accent") },
      },
    };
  }

  // Charts.
  function paint(trace, look) {
    const colour = dark() ? look.dark : look.light;
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    const brushes = {
      line: () => { trace.line = { ...trace.line, color: colour, dash: look.dash }; },
      marker: () => { trace.marker = { ...trace.marker, color: colour, symbol: look.symbol }; },
      tick: () => { trace.marker = { ...trace.marker, color: colour }; },
      fill: () => { trace.fillcolor = `rgba(${r},${g},${b},0.18)`; },
      error_x: () => { if (trace.error_x) trace.error_x = { ...trace.error_x, color: colour }; },
      error_y: () => { if (trace.error_y) trace.error_y = { ...trace.error_y, color: colour }; },
    };
    for (const brush of trace.paint ?? []) brushes[brush]();
  }

  const narrow = (box) => box.clientWidth < 600;

  function tracesOf(chart, box) {
    const traces = [];
    for (const given of chart.traces) {
      if (given.policy !== undefined && hidden.has(given.policy)) continue;
      const only = given.only ?? "";
      if (only.includes("wide") && narrow(box)) continue;
      if (only.includes("linear") && chart.scales?.[box.dataset.scale]?.xaxis) continue;
      const trace = { ...chart.trace, ...given, meta: given.policy };
      for (const axis of ["x", "y"]) {
        if (typeof trace[axis] === "string") trace[axis] = chart.shared[trace[axis]];
      }
      if (trace.y.length === 1 && trace.x.length > 1) trace.y = trace.x.map(() => given.y[0]);
      if (given.pattern) {
        trace.fillpattern = {
          shape: given.pattern, size: 9, solidity: 0.12, fgcolor: "rgba(255,255,255,0.75)", fillmode: "overlay",
        };
      }
      if (given.of) {
        const keep = given.of.map((policy) => !hidden.has(policy));
        trace.x = trace.x.filter((_, i) => keep[i]);
        trace.y = trace.y.filter((_, i) => keep[i]);
        if (trace.text) trace.text = trace.text.filter((_, i) => keep[i]);
      }
      if (given.policy !== undefined) paint(trace, data.policies[given.policy]);
      traces.push(trace);
    }
    return traces;
  }

  // Labels that keep apart on a phone: small, short (20k), and on a log axis of powers of ten only.
  function narrowAxis(axis) {
    const compact = new Intl.NumberFormat("en", { notation: "compact" });
    axis.tickfont = { size: 10 };
    axis.nticks = 5;
    if (axis.ticktext) axis.ticktext = axis.tickvals.map((value) => compact.format(value));
    if (axis.type === "log" && !axis.ticktext) Object.assign(axis, { dtick: 1, tickformat: "~s" });
  }

  function layoutOf(chart, box, traces) {
    const layout = structuredClone(chart.layout);
    layout.template = template();
    const tag = {
      showarrow: false, font: { color: "#ffffff", size: 12 }, bgcolor: "rgba(0,0,0,0.65)", borderpad: 1,
    };
    layout.annotations = [...(layout.annotations ?? []), ...(chart.annotations ?? [])]
      .map((note) => (note.tag ? { ...tag, ...note } : note));
    for (const shape of layout.shapes ?? []) {
      if (shape.line?.color === "theme") shape.line.color = css("--text");
    }
    if (narrow(box)) layout.margin.r = Math.min(layout.margin.r, 16);
    if (chart.rows) {
      const rows = chart.rows.filter((policy) => !hidden.has(policy));
      const labels = rows.map((policy) => data.policies[policy].label);
      const lines = labels.reduce((sum, label) => sum + label.split("<br>").length, 0);
      layout.yaxis = {
        ...layout.yaxis, type: "category", categoryorder: "array",
        categoryarray: labels, range: [rows.length - 0.4, -0.6], ticklabelstandoff: 4,
      };
      layout.height = layout.margin.t + layout.margin.b + Math.max(40, 14 * lines + 14 * rows.length);
    }
    if (layout.legend?.orientation === "h" && layout.height && !chart.rows) {
      const entries = traces.filter((trace) => trace.name && trace.showlegend !== false);
      const width = 60 + 8 * Math.max(1, ...entries.map((trace) => trace.name.length));
      const columns = Math.max(1, Math.floor((box.clientWidth - 60) / width));
      const room = 20 * Math.ceil(entries.length / columns);
      layout.height += room;
      layout.legend.y = -64 / (layout.height - layout.margin.t - layout.margin.b - room);
      layout.margin.b += room;
      layout.legend.entrywidth = width - 40;
    }
    for (const [axis, range] of Object.entries(chart.scales?.[box.dataset.scale] ?? {})) {
      Object.assign(layout[axis], { type: "log", range, dtick: "D2", tickformat: ",~r" });
      layout[axis].title.text += ", log axis";
    }
    if (narrow(box)) narrowAxis(layout.xaxis);
    return layout;
  }

  function draw(box) {
    const given = data.charts[box.dataset.chart];
    const chart = { ...data.bases[given.base], ...given };
    const traces = tracesOf(chart, box);
    Plotly.react(box, traces, layoutOf(chart, box, traces), config);
    if (!box.dataset.drawn) {
      box.dataset.drawn = "yes";
      box.on("plotly_legendclick", (event) => {
        const policy = event.data[event.curveNumber].meta;
        if (policy === undefined) return true;
        show(policy, false);
        return false;
      });
    }
  }

  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        observer.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "400px" });

  // Draw again whatever is in view; the rest when it comes into view.
  function refresh(boxes = all(".chart")) {
    for (const box of boxes) {
      observer.unobserve(box);
      observer.observe(box);
    }
  }

  // Policies.
  const ticks = new Map(all("input[data-policy]").map((tick) => [Number(tick.dataset.policy), tick]));

  function show(policy, shown) {
    if (shown) hidden.delete(policy);
    else hidden.add(policy);
    ticks.get(policy).checked = shown;
    refresh();
  }

  for (const [policy, tick] of ticks) {
    tick.checked = !hidden.has(policy);
    tick.addEventListener("change", () => show(policy, tick.checked));
  }
  for (const button of all("button[data-policies]")) {
    button.addEventListener("click", () => {
      const wanted = new Set(JSON.parse(button.dataset.policies));
      for (const policy of ticks.keys()) show(policy, wanted.has(policy));
    });
  }

  // Worlds.
  const worlds = all(".world");
  function showWorld(index) {
    for (const world of worlds) world.hidden = world.dataset.world !== index;
    refresh();
  }
  const worldPicker = document.getElementById("world");
  if (worldPicker) {
    worldPicker.addEventListener("change", () => showWorld(worldPicker.value));
    for (const button of all("button[data-go]")) {
      button.addEventListener("click", () => {
        worldPicker.value = button.dataset.go;
        showWorld(button.dataset.go);
        document.getElementById(`world-${button.dataset.go}`).scrollIntoView();
      });
    }
    showWorld(worldPicker.value);
  }

  // Charts of which one is picked, with the sentence and the table that belong to it.
  for (const picker of all("select[data-picks]")) {
    picker.addEventListener("change", () => {
      const box = document.getElementById(picker.dataset.picks);
      box.dataset.chart = picker.value;
      for (const part of all(`[data-belongs="${box.id}"]`)) part.hidden = part.dataset.chart !== picker.value;
      refresh([box]);
    });
  }

  // Linear or log axes.
  for (const button of all("button[data-scale]")) {
    button.addEventListener("click", () => {
      const box = document.getElementById(button.dataset.of);
      box.dataset.scale = button.dataset.scale;
      for (const other of all(`button[data-of="${box.id}"]`)) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      refresh([box]);
    });
  }

  document.addEventListener("theme", () => refresh());
  addEventListener("beforeprint", () => {
    for (const box of all(".chart")) if (box.offsetParent !== null) draw(box);
  });
})();
