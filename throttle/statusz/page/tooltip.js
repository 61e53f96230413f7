// The box with the values of a chart under the pointer.

class Tooltip {
  constructor() {
    this.box = byId("tooltip");
    this.cursor = byId("cursor");
    this.charts = new WeakMap(); // svg to a function from age to lines
    document.addEventListener("pointermove", (e) => this.move(e), { passive: true });
    document.addEventListener("scroll", () => this.hide(), { passive: true, capture: true });
    document.addEventListener("pointerleave", () => this.hide());
  }

  // attach shows a tooltip for a chart. of returns the lines for an age in seconds: [name, value].
  attach(svg, of) { this.charts.set(svg, of); }

  move(e) {
    const svg = e.target instanceof Element ? e.target.closest("svg.spark") : null;
    const of = svg && this.charts.get(svg);
    if (!of) return this.hide();
    const rect = svg.getBoundingClientRect();
    const x = Math.min(Math.max(e.clientX, rect.left), rect.right);
    const lines = of(span * (1 - (x - rect.left) / rect.width));
    if (!lines) return this.hide();
    this.box.replaceChildren(...lines.map(([name, value]) => element("p", {}, element("span", {}, name), element("b", {}, value))));
    this.box.hidden = this.cursor.hidden = false;
    const width = this.box.offsetWidth, height = this.box.offsetHeight;
    const left = x + 12 + width > document.documentElement.clientWidth ? x - 12 - width : x + 12;
    const above = rect.top - height - 6;
    this.place(this.box, Math.max(4, left), above < 4 ? rect.bottom + 6 : above);
    this.place(this.cursor, x, rect.top);
    this.cursor.style.height = rect.height + "px";
  }

  place(node, left, top) {
    node.style.left = left + "px";
    node.style.top = top + "px";
  }

  hide() { this.box.hidden = this.cursor.hidden = true; }
}

// valuesAt returns the tooltip lines of a priority at an age in seconds.
function valuesAt(model, priority, age) {
  const times = model.times, at = model.time - age * 1000;
  let i = times.length - 1;
  while (i > 0 && times[i - 1] >= at) i--;
  if (i < 0 || times[i] - at > 3000) return null;
  const value = (s) => (s === null ? 0 : s[i - times.length + s.length] ?? 0);
  const lines = [
    [clockText(times[i]), "−" + agoText(model.time - times[i])],
    ["admitted", rateText(value(priority.admitted)) + " /s"],
    ["shed", rateText(value(priority.shed)) + " /s"],
  ];
  if (priority.wouldShed !== null) lines.push(["would be shed", rateText(value(priority.wouldShed)) + " /s"]);
  if (priority.probabilities !== undefined) lines.push(["probability", percentText(value(priority.probabilities))]);
  return lines;
}
