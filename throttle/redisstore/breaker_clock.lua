-- Returns the server's time. KEYS: the lease. A cluster runs the script on the node of its key, so
-- all times come from the node with the lease and the probes.
return redis.call('TIME')
