// The list of cards, with filter and order.

function compare(a, b) { return a < b ? -1 : a > b ? 1 : 0; }

const orders = {
  shed: (a, b) => b.rank - a.rank || b.traffic - a.traffic || compare(a.row.name, b.row.name),
  calls: (a, b) => b.traffic - a.traffic || compare(a.row.name, b.row.name),
  name: (a, b) => compare(a.row.name, b.row.name),
};

class List {
  constructor(page) {
    this.page = page;
    this.root = byId("throttles");
    this.count = byId("count");
    this.empty = element("div", { class: "empty" });
    this.cards = new Map();
    this.filter = "";
    this.order = "shed";
    this.lastPointerAt = 0;
    this.sortedAt = 0;
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) this.cards.get(Number(entry.target.dataset.id))?.setVisible(entry.isIntersecting);
    }, { rootMargin: "400px 0px" });
    for (const kind of ["pointermove", "wheel", "touchmove"]) {
      this.root.addEventListener(kind, () => { this.lastPointerAt = performance.now(); }, { passive: true });
    }
  }

  // reset removes all cards. The page calls it if the process has been restarted.
  reset() {
    this.observer.disconnect();
    this.cards.clear();
    this.root.replaceChildren();
  }

  update() {
    const { model } = this.page;
    for (const [id, card] of this.cards) {
      if (!model.rows.has(id)) this.drop(id, card);
    }
    let fresh = false;
    for (const row of model.rows.values()) {
      const card = this.cards.get(row.id);
      if (card) card.row = row;
      else {
        this.add(row);
        fresh = true;
      }
    }
    const early = model.times.length <= rateSamples; // rates are not stable yet
    if (fresh || early || this.mayReorder()) this.reorder();
    else this.showCount();
    for (const card of this.cards.values()) card.update();
  }

  add(row) {
    const card = new Card(row, this.page);
    card.node.dataset.id = row.id;
    this.cards.set(row.id, card);
    this.observer.observe(card.node);
  }

  drop(id, card) {
    this.observer.unobserve(card.node);
    card.node.remove();
    this.cards.delete(id);
  }

  // mayReorder reports whether the cards may be reordered: every few seconds, and not while the
  // pointer or the focus is on one.
  mayReorder() {
    const now = performance.now(), held = this.root.contains(document.activeElement) && this.root !== document.activeElement;
    return now - this.sortedAt > 4500 && now - this.lastPointerAt > 4000 && !held;
  }

  // reorder applies filter and order. It moves as few cards as possible.
  reorder() {
    this.sortedAt = performance.now();
    const cards = [...this.cards.values()];
    for (const card of cards) {
      card.rank = Math.round(10 * card.row.shed(sortSamples)) + Math.min(0.9, card.row.wouldShed(sortSamples) / 1e6); // shadow sorts below every throttle that sheds
      card.traffic = Math.round(card.row.calls(sortSamples));
      card.node.hidden = !card.row.searchText.includes(this.filter);
    }
    cards.sort(orders[this.order]);
    let at = this.root.firstChild;
    for (const { node } of cards) {
      if (at !== null && node !== at && at.nextSibling === node) at = node;
      if (node === at) at = at.nextSibling;
      else this.root.insertBefore(node, at);
    }
    this.showCount();
  }

  // showCount shows the number of throttles, and a hint if there are none.
  showCount() {
    const all = this.cards.size, shown = [...this.cards.values()].filter((c) => !c.node.hidden).length;
    setText(this.count, this.filter === "" ? plural(all, "throttle") : `${grouped.format(shown)} of ${plural(all, "throttle")}`);
    byId("columns").hidden = shown === 0;
    byId("tools").hidden = all === 0;
    if (shown > 0) return this.empty.remove();
    if (all > 0) this.empty.replaceChildren(element("p", {}, "No throttle name contains ", element("b", {}, element("bdi", {}, printable(this.filter))), "."));
    else this.empty.replaceChildren(element("p", {}, "No throttles yet. Add the page's hooks to the Config of each throttle:"),
      element("pre", {}, element("code", {}, 'throttle.New(throttle.Config{Name: "orders", Hooks: page.Hooks()})')));
    if (!this.empty.isConnected) this.root.append(this.empty);
  }
}
