package main

// usage is what -h tells.
const usage = `Webhooks shows a distributed circuit breaker at work in a dispatcher of webhooks.

usage: go run ./examples/webhooks [flags]

  -duration d      about how long the story takes, such as 30s: 5s to 10m (default 30s); the breaker's times follow from it. It takes longer
                   on a busy machine, and if so many endpoints die that a database needs longer for each round
  -endpoints n     endpoints, of forty tenants: 100 to 5000 (default 2000)
  -dead p          percent of them that die: 1 to 20 (default 5), and at least 5 endpoints
  -agents n        agents, which have workers, connections and a breaker of their own: 2 to 16 (default 3)
  -rate n          deliveries per second in all: 50 to 3000 (default 800)
  -redis address   let the breakers share a Redis, such as 127.0.0.1:6379
  -postgres dsn    use PostgreSQL for the deliveries and, without -redis, for the breakers,
                   such as postgres://user@127.0.0.1:5432/database
  -metrics address serve /metrics for Prometheus and /debug/throttle, such as 127.0.0.1:9464; with port 0 a free one is taken
  -repeat          when all is told mend everything, replace who was killed, and go on from the deaths, over and over, until Ctrl-C;
                   a broken promise is then told, and is no reason to fail
  -seed n          who dies (default 1)

Without -redis and -postgres everything is in a file of SQLite in a temporary folder. What is made on servers is removed at the end.

Ctrl-C ends the run and prints what there is; a second one ends at once. The command exits with 0 if all is well, 1 if it could not run
or a promise was broken, and 2 for flags that make no sense; go run makes a 1 of that. What came late only because the machine is busy
is said, and is no reason to fail.

Examples:
  # The whole story
  go run ./examples/webhooks

  # Slow enough to watch in Grafana
  go run ./examples/webhooks -duration 10m -metrics 127.0.0.1:9464
`
