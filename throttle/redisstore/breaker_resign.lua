-- Resign. KEYS: the lease. ARGV: the owner, the term. The term is kept, so the next one is higher.
local lease = redis.call('HMGET', KEYS[1], 'owner', 'term')
if lease[1] == ARGV[1] and lease[2] == ARGV[2] then
  redis.call('HSET', KEYS[1], 'until', '0')
end
return {}
