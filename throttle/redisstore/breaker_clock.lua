-- The time. KEYS: the lease, so that it is the clock of the server which has the lease and the probes: others may be ahead or behind.
return redis.call('TIME')
