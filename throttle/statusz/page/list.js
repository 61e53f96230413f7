// The list of cards: which are shown, and in which order.

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
    this.wanted = "";
    this.order = "shed";
    this.touched = 0;
    this.sorted = 0;
    this.watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) this.cards.get(Number(entry.target.dataset.id))?.setVisible(entry.isIntersecting);
    }, { rootMargin: "400px 0px" });
    for (const kind of ["pointermove", "wheel", "touchmove"]) {
      this.root.addEventListener(kind, () => { this.touched = performance.now(); }, { passive: true });
    }
  }

  // reset forgets the cards: another process has other throttles.
  reset() {
    this.watcher.disconnect();
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
    const early = model.times.length <= smoothing; // there was nothing to go by yet
    if (fresh || early || this.mayMove()) this.arrange();
    else this.tell();
    for (const card of this.cards.values()) card.update();
  }

  add(row) {
    const card = new Card(row, this.page);
    card.node.dataset.id = row.id;
    this.cards.set(row.id, card);
    this.watcher.observe(card.node);
  }

  drop(id, card) {
    this.watcher.unobserve(card.node);
    card.node.remove();
    this.cards.delete(id);
  }

  // mayMove tells whether it is time to put the cards in order: every few seconds, and not under somebody's hand.
  mayMove() {
    const now = performance.now(), held = this.root.contains(document.activeElement) && this.root !== document.activeElement;
    return now - this.sorted > 4500 && now - this.touched > 4000 && !held;
  }

  // arrange puts the cards that are wanted in order. It moves as few as it can.
  arrange() {
    this.sorted = performance.now();
    const cards = [...this.cards.values()];
    for (const card of cards) {
      card.rank = Math.round(10 * card.row.shed(calm)) + Math.min(0.9, card.row.wouldShed(calm) / 1e6); // shadow comes after all that sheds
      card.traffic = Math.round(card.row.calls(calm));
      card.node.hidden = !card.row.sought.includes(this.wanted);
    }
    cards.sort(orders[this.order]);
    let at = this.root.firstChild;
    for (const { node } of cards) {
      if (at !== null && node !== at && at.nextSibling === node) at = node;
      if (node === at) at = at.nextSibling;
      else this.root.insertBefore(node, at);
    }
    this.tell();
  }

  // tell says how many there are, and what to do if there are none.
  tell() {
    const all = this.cards.size, shown = [...this.cards.values()].filter((c) => !c.node.hidden).length;
    setText(this.count, this.wanted === "" ? plural(all, "throttle") : `${grouped.format(shown)} of ${plural(all, "throttle")}`);
    byId("columns").hidden = shown === 0;
    byId("tools").hidden = all === 0;
    if (shown > 0) return this.empty.remove();
    if (all > 0) this.empty.replaceChildren(element("p", {}, "No name contains ", element("b", {}, element("bdi", {}, visible(this.wanted))), "."));
    else this.empty.replaceChildren(element("p", {}, "No throttle is attached yet. Give each one the page's hooks:"),
      element("pre", {}, element("code", {}, 'throttle.New(throttle.Config{Name: "orders", Hooks: page.Hooks()})')));
    if (!this.empty.isConnected) this.root.append(this.empty);
  }
}
