// Plots as SVG over one time axis: a cursor that follows the motion, values under the pointer.

const SVG = "http://www.w3.org/2000/svg";
function svg(kind, attributes, parent) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (parent) parent.appendChild(made);
  return made;
}

function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), f = raw / power;
  const step = (f > 5 ? 10 : f > 2 ? 5 : f > 1 ? 2 : 1) * power, out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return { out, step };
}

function number(x, digits) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(digits - 1).replace("e+", "e") : String(Number(x.toPrecision(digits)));
}

// What all plots have in common: the span of time and the margin beside them.
class Axis {
  constructor(start, end) { this.start = start; this.end = end > start ? end : start + 1; this.left = 36; this.plots = []; }
  // the widest numbers of any plot set the margin of all
  fit() {
    const left = Math.max(36, ...this.plots.map((plot) => plot.wanted || 0));
    if (left === this.left) return false;
    this.left = left;
    for (const plot of this.plots) plot.draw();
    return true;
  }
  hover(time) { for (const plot of this.plots) plot.point(time); }
}

class Plot {
  constructor(holder, data, player, axis) {
    this.data = data; this.player = player; this.off = new Set(); this.axis = axis; axis.plots.push(this);
    this.t = new Float32Array(bytes(data.t)); this.y = new Float32Array(bytes(data.values));
    const card = document.createElement("div");
    card.className = "card plot";
    const head = document.createElement("h2"), unitText = document.createElement("span");
    head.textContent = data.title; unitText.textContent = data.unit; head.appendChild(unitText);
    this.svg = svg("svg", { role: "img", "aria-label": data.title });
    this.legend = document.createElement("div"); this.legend.className = "legend";
    card.append(head, this.svg, this.legend); holder.appendChild(card);
    this.legend.hidden = !data.names[0];
    data.names.forEach((name, k) => {
      const chip = document.createElement("button");
      chip.textContent = name; chip.style.setProperty("--c", this.color(k));
      chip.addEventListener("click", () => {
        if (this.off.has(k)) this.off.delete(k); else this.off.add(k);
        chip.classList.toggle("off"); this.layout();
      });
      chip.addEventListener("pointerenter", () => this.focus(k));
      chip.addEventListener("pointerleave", () => this.focus(-1));
      this.legend.appendChild(chip);
    });
    this.listen();
    new ResizeObserver(() => this.layout()).observe(this.svg);
  }

  color(k) { return this.data.colors[k % this.data.colors.length]; }
  value(k, i) { return this.y[k * this.t.length + i]; }

  range() {
    let low = Infinity, high = -Infinity;
    for (let k = 0; k < this.data.names.length; k++) {
      if (this.off.has(k)) continue;
      for (let i = 0; i < this.t.length; i++) { const v = this.value(k, i); if (v < low) low = v; if (v > high) high = v; }
    }
    if (!(high >= low)) { low = -1; high = 1; }
    const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [low - pad, high + pad];
  }

  layout() {
    const height = this.svg.clientHeight, [low, high] = this.range();
    if (!this.svg.clientWidth) return;
    this.vertical = ticks(low, high, Math.max(3, height / 36)); this.low = low; this.high = high;
    this.wanted = 14 + 6.4 * Math.max(...this.vertical.out.map((y) => number(y, 4).length));
    if (!this.axis.fit()) this.draw();
  }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width || !this.vertical) return;
    const T = this.t, t0 = this.axis.start, t1 = this.axis.end, { vertical, low, high } = this;
    this.box = { left: this.axis.left, right: width - 8, top: 8, bottom: height - 22 };
    const b = this.box;
    this.x = (t) => b.left + ((t - t0) / (t1 - t0)) * (b.right - b.left);
    this.at = (y) => b.bottom - ((y - low) / (high - low)) * (b.bottom - b.top);
    this.svg.replaceChildren();
    for (const y of vertical.out) {
      svg("line", { x1: b.left, x2: b.right, y1: this.at(y), y2: this.at(y), class: Math.abs(y) < vertical.step * 1e-6 ? "zero" : "grid" }, this.svg);
      svg("text", { x: b.left - 7, y: this.at(y) + 3.5, "text-anchor": "end" }, this.svg).textContent = number(Math.abs(y) < vertical.step * 1e-6 ? 0 : y, 4);
    }
    const across = ticks(t0, t1, Math.max(3, width / 90));
    across.out.forEach((t, k) => {
      svg("line", { x1: this.x(t), x2: this.x(t), y1: b.top, y2: b.bottom, class: "grid" }, this.svg);
      const edge = k === across.out.length - 1 && this.x(t) > b.right - 14;
      const text = svg("text", { x: this.x(t), y: b.bottom + 16, "text-anchor": edge ? "end" : "middle" }, this.svg);
      text.textContent = number(Math.abs(t) < across.step * 1e-6 ? 0 : t, 6) + (k === across.out.length - 1 ? " s" : "");
    });
    this.paths = this.data.names.map((_, k) => {
      if (this.off.has(k)) return null;
      const points = [];
      for (let i = 0; i < T.length; i++) points.push(`${this.x(T[i]).toFixed(1)},${this.at(this.value(k, i)).toFixed(1)}`);
      return svg("path", { d: "M" + points.join("L"), stroke: this.color(k) }, this.svg);
    });
    this.hoverLine = svg("line", { y1: b.top, y2: b.bottom, class: "hover", visibility: "hidden" }, this.svg);
    this.now = svg("line", { y1: b.top, y2: b.bottom, class: "now" }, this.svg);
    this.mark(this.player.time);
  }

  mark(time) {
    if (!this.now) return;
    const x = this.x(time);
    this.now.setAttribute("x1", x); this.now.setAttribute("x2", x);
  }

  focus(k) { this.paths.forEach((path, j) => path && path.classList.toggle("dim", k >= 0 && j !== k)); }

  listen() {
    const area = this.svg;
    const time = (e) => {
      const b = this.box, box = area.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (e.clientX - box.left - b.left) / (b.right - b.left)));
      return this.axis.start + share * (this.axis.end - this.axis.start);
    };
    area.addEventListener("pointerdown", (e) => { area.setPointerCapture(e.pointerId); this.player.seek(time(e)); });
    area.addEventListener("pointermove", (e) => {
      const t = time(e);
      if (e.buttons) this.player.seek(t);
      this.hover(t, e);
    });
    area.addEventListener("pointerleave", () => { tip.hidden = true; this.axis.hover(null); });
  }

  // the line under the pointer, in every plot
  point(time) {
    if (!this.hoverLine) return;
    this.hoverLine.setAttribute("visibility", time === null ? "hidden" : "visible");
    if (time !== null) for (const end of ["x1", "x2"]) this.hoverLine.setAttribute(end, this.x(time));
  }

  hover(t, e) {
    const T = this.t;
    let i = 0;
    while (i < T.length - 1 && T[i + 1] <= t) i++;
    if (i < T.length - 1 && T[i + 1] - t < t - T[i]) i++;
    this.axis.hover(T[i]);
    const y = e.clientY - this.svg.getBoundingClientRect().top;
    let shown = this.data.names.map((name, k) => ({ name, k, v: this.value(k, i) })).filter((r) => !this.off.has(r.k));
    if (shown.length > 8) shown = shown.sort((a, b) => Math.abs(this.at(a.v) - y) - Math.abs(this.at(b.v) - y)).slice(0, 6);
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = `t = ${number(T[i], 5)} s`; tip.appendChild(head);
    for (const row of shown) {
      const line = document.createElement("div"), dotMark = document.createElement("i"), label = document.createElement("em"), text = document.createElement("span");
      dotMark.style.background = this.color(row.k); label.textContent = row.name; text.textContent = number(row.v, 5);
      line.append(dotMark, label, text); tip.appendChild(line);
    }
    tip.hidden = false;
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = `${Math.max(4, e.clientX + 16 + w > innerWidth ? e.clientX - w - 16 : e.clientX + 16)}px`;
    tip.style.top = `${Math.max(4, Math.min(innerHeight - h - 8, e.clientY - h / 2))}px`;
  }
}

const tip = document.createElement("div");
tip.className = "tip"; tip.hidden = true;
