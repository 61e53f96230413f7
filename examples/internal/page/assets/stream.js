// The stream of samples, and the state of its connection on the page.

function connect(state, text) {
  const node = document.getElementById("connection");
  node.dataset.state = state;
  node.textContent = text;
}

// listen calls begin with the samples so far at each new connection, and then take with each sample.
export function listen(begin, take) {
  const source = new EventSource("stream");
  source.addEventListener("history", (event) => {
    connect("live", "live");
    begin(JSON.parse(event.data));
  });
  source.addEventListener("sample", (event) => take(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    connect("lost", "connection lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(begin, take), 2000); // the browser does not reconnect after an error status
  });
}
