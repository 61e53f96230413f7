// The details of a card: the settings, and the totals since the start.

class Details {
  constructor(row, model, control) {
    this.model = model;
    this.node = element("div", { class: "details", id: "d" + row.id, role: "region", "aria-label": "Details of " + row.label.slice(0, 80) });
    this.settings = element("dl", { class: "settings" });
    this.counts = element("div", { class: "scroll" });
    this.faults = element("div", { class: "scroll" });
    this.fallbacks = element("div", { class: "scroll" });
    this.slow = element("div", { class: "scroll" });
    this.tenants = element("div", { class: "scroll" });
    this.drawn = "";
    const block = (title, ...nodes) => element("section", { class: "block" }, element("h3", {}, title), ...nodes);
    this.form = control.enabled ? new ControlForm(row, control) : null;
    this.node.append(block("Settings", this.settings, ...(this.form ? [this.form.node] : [])), block("Totals since the start", this.counts),
      block("Outcomes of admitted calls", this.faults), block("Fallbacks", this.fallbacks),
      this.slowBlock = block("Slow calls", this.slow),
      this.tenantsBlock = block("Tenants", this.tenants));
  }

  update(row) {
    this.form?.update(row);
    const drawn = JSON.stringify([row.head, row.slow, row.tenants, row.priorities.map((l) => l.total)]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.drawSettings(row);
    this.drawCounts(row);
    this.drawSlow(row);
    this.drawTenants(row);
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
    if (row.state_since) {
      const time = clockText(Date.parse(row.state_since));
      settings.push(["state", row.alert === "none" ? "quiet since " + time : "in alert (" + row.alert + ") since " + time]);
      settings.push(["background", percentText(row.background)]);
    }
    if (row.slow?.threshold_seconds > 0) settings.push(["slow", durationText(row.slow.threshold_seconds)], ["slow gate", row.slow.gate]);
    if (row.slow?.auto) settings.push(["slow, learned", row.slow.learned_seconds > 0 ? durationText(row.slow.learned_seconds) : "not yet"]);
    if (row.processor_wait_seconds > 0) settings.push(["processor wait", durationText(row.processor_wait_seconds)]);
    if (row.load_received) settings.push(["the backend says", row.load_received]);
    if (row.load_sent) settings.push(["says to its clients", row.load_sent]);
    settings.push(["instances", grouped.format(row.instances)]);
    this.settings.replaceChildren(...settings.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    if (row.mixed) this.settings.append(element("p", { class: "aside" }, "The settings of the instances differ. These are the settings of the oldest."));
  }

  drawCounts(row) {
    const all = [
      ["admitted", (t) => t.admitted], ["shed, cause own", (t) => t.shedOwn], ["shed, cause above", (t) => t.shedAbove],
      ["shed, cause limit", (t) => t.shedLimit, true], ["shed, cause processor", (t) => t.shedProcessor, true],
      ["shed, cause told", (t) => t.shedTold, true],
      ["would be shed, own", (t) => t.wouldOwn, true], ["would be shed, above", (t) => t.wouldAbove, true],
      ["would be shed, limit", (t) => t.wouldLimit, true], ["would be shed, processor", (t) => t.wouldProcessor, true],
      ["would be shed, told", (t) => t.wouldTold, true],
      ["rejected, the backend is full", (t) => t.overloaded, true], ["priority out of range", (t) => t.clamped, true],
    ];
    const lines = all.filter(([, of, rare]) => !rare || row.priorities.some((l) => of(l.total) > 0));
    this.counts.replaceChildren(countTable(["Calls"], row, lines.map(([name, of]) => [[name], row.priorities.map((l) => of(l.total))])));
    if (row.exempt > 0) this.counts.append(element("p", { class: "aside" }, plural(row.exempt, "exempt call") + ", such as health checks, in no other count"));
  }

  // drawSlow draws what Config.Slow and SlowAuto do.
  drawSlow(row) {
    const { slow } = row;
    this.slowBlock.hidden = slow === null;
    if (slow === null) return;
    const off = slow.threshold_seconds === 0;
    const all = [
      ["late", "late", off], ["booked as rejected", "booked", off], ["written off", "written_off", true], ["would be refused", "would_refuse", true],
      ["limit of open calls, now", "limit", !slow.closed],
    ];
    const lines = all.filter(([, of, rare]) => !rare || slow.calls.some((c) => c[of] > 0));
    const oldest = slow.oldest_seconds > 0 ? ", the oldest for " + durationText(slow.oldest_seconds) : "";
    const lost = slow.written_off > 0 ? `; ${plural(slow.written_off, "call")} written off` : "";
    this.slow.replaceChildren(countTable(["Calls"], row, lines.map(([name, of]) => [[name], slow.calls.map((c) => c[of])])));
    const learned = slow.full ? "; the backend is full" : slow.auto ? "; learned, and the backend is not full" : "";
    if (!off) this.slow.append(element("p", { class: "aside" }, plural(slow.open, "open call") + oldest + lost + learned));
  }

  // drawTenants draws the tenants that ask for most.
  drawTenants({ tenants }) {
    this.tenantsBlock.hidden = tenants === null;
    if (tenants === null) return;
    const { known, above, shed, top } = tenants;
    const lines = top.map((t) => element("tr", {},
      element("th", { scope: "row" }, element("bdi", {}, t.id === "" ? "no tenant" : printable(t.key ?? "") || "#" + t.id)),
      element("td", {}, t.above ? "above its share" : ""), element("td", { class: "number" }, percentText(t.share))));
    const head = [["Tenant"], ["Now"], ["Of the calls", "number"]];
    this.tenants.replaceChildren(
      element("p", { class: "aside" }, `${plural(known, "tenant")}, ${grouped.format(above)} above the fair share; ${plural(shed, "call")} of such tenants shed since the start`),
      element("table", { class: "sheet counts" }, element("thead", {}, element("tr", {}, ...head.map(([title, kind = ""]) => element("th", { scope: "col", class: kind }, title)))),
        element("tbody", {}, ...lines)));
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
