-- Campaign. KEYS: the lease. ARGV: the candidate, the TTL in microseconds.
-- Returns the owner of the lease, the term, and the microseconds until the lease ends.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ttl = tonumber(ARGV[2])

-- Returns a whole number, or nil for a text that this script cannot have written.
local function whole(text)
  local n = text and string.match(text, '^%d+$') and tonumber(text)
  return n and n < 9007199254740992 and n
end

-- Formats all digits of a number. Lua's own conversion rounds to 14 digits.
local function digits(n)
  return string.format('%.0f', n)
end

local lease = redis.call('HMGET', KEYS[1], 'owner', 'term', 'until', 'ttl')
local term, ends, span = whole(lease[2]), whole(lease[3]) or 0, whole(lease[4]) or 0
local owner = term and lease[1]

-- A lease ends at most one TTL from now. A later end was written before the clock was set back, or
-- by a server whose clock was ahead.
local bounded = math.min(ends, now + span)

if not owner or now >= bounded then
  owner, term = ARGV[1], math.max((term or 0) + 1, now)
end
if owner == ARGV[1] then
  bounded = now + ttl
  redis.call('HSET', KEYS[1], 'owner', owner, 'term', digits(term), 'until', digits(bounded), 'ttl', digits(ttl))
elseif bounded < ends then
  redis.call('HSET', KEYS[1], 'until', digits(bounded))
end
return {owner, digits(term), bounded - now}
