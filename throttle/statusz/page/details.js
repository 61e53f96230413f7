// The details of a card: the settings, and the totals since the start.

class Details {
  constructor(row, model) {
    this.model = model;
    this.node = element("div", { class: "details", id: "d" + row.id, role: "region", "aria-label": "Details of " + row.label.slice(0, 80) });
    this.settings = element("dl", { class: "settings" });
    this.counts = element("div", { class: "scroll" });
    this.faults = element("div", { class: "scroll" });
    this.fallbacks = element("div", { class: "scroll" });
    this.drawn = "";
    const block = (title, ...nodes) => element("section", { class: "block" }, element("h3", {}, title), ...nodes);
    this.node.append(block("Settings", this.settings), block("Totals since the start", this.counts),
      block("Outcomes of admitted calls", this.faults), block("Fallbacks", this.fallbacks));
  }

  update(row) {
    const drawn = JSON.stringify([row.head, row.priorities.map((l) => l.total)]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.drawSettings(row);
    this.drawCounts(row);
    const words = this.model;
    this.drawCountsBy(this.faults, row, (l) => l.total.ended, "No call has ended yet.",
      (o, f) => [words.outcomes[o], f === 0 ? "no error" : words.faults[f]], ["Outcome", "Fault"]);
    this.drawCountsBy(this.fallbacks, row, (l) => l.total.fallbacks, "No fallback has run.",
      (o, f) => [words.outcomes[o], f === 0 ? "succeeded" : "failed: " + words.faults[f]], ["Call", "Fallback"]);
  }

  drawSettings(row) {
    const settings = [
      ["policy", row.policy], ["mode", row.mode], ["ratio", plainText(row.ratio)],
      ["minimum rate", plainText(row.minimum_rate) + " /s"], ["window", plainText(row.window_seconds) + " s"],
    ];
    if (row.target_rejection > 0) settings.push(["target rejection", percentText(row.target_rejection)]);
    settings.push(["instances", grouped.format(row.instances)]);
    this.settings.replaceChildren(...settings.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    if (row.mixed) this.settings.append(element("p", { class: "aside" }, "The settings of the instances differ. These are the settings of the oldest."));
  }

  drawCounts(row) {
    const all = [
      ["admitted", (t) => t.admitted], ["shed, cause own", (t) => t.shedOwn], ["shed, cause above", (t) => t.shedAbove],
      ["would be shed, own", (t) => t.wouldOwn, true], ["would be shed, above", (t) => t.wouldAbove, true],
      ["priority out of range", (t) => t.clamped, true],
    ];
    const lines = all.filter(([, of, rare]) => !rare || row.priorities.some((l) => of(l.total) > 0));
    this.counts.replaceChildren(countTable(["Calls"], row, lines.map(([name, of]) => [[name], row.priorities.map((l) => of(l.total))])));
  }

  // drawCountsBy draws a table of counts by outcome and fault.
  drawCountsBy(into, row, of, none, words, titles) {
    const lines = new Map();
    row.priorities.forEach((priority, p) => {
      const counts = of(priority);
      for (let i = 0; i < counts.length; i += 3) {
        const key = counts[i] * 100 + counts[i + 1];
        if (!lines.has(key)) lines.set(key, [words(counts[i], counts[i + 1]), row.priorities.map(() => 0)]);
        lines.get(key)[1][p] = counts[i + 2];
      }
    });
    if (lines.size === 0) return into.replaceChildren(element("p", { class: "aside" }, none));
    into.replaceChildren(countTable(titles, row, [...lines.keys()].sort((a, b) => a - b).map((key) => lines.get(key))));
  }
}

// countTable returns a table with a column per priority.
function countTable(titles, row, lines) {
  const head = [...titles.map((t) => element("th", { scope: "col" }, t)),
    ...row.priorities.map((priority) => element("th", { scope: "col", class: "number" }, priority.name))];
  return element("table", { class: "sheet counts" }, element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...lines.map(([words, numbers]) => element("tr", {},
      ...words.map((w, i) => element(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, w)),
      ...numbers.map((n) => element("td", { class: n === 0 ? "number nil" : "number" }, grouped.format(n)))))));
}
