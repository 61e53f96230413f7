-- Campaign. KEYS: the lease. ARGV: the candidate's name, for how many microseconds it wants to lead.
-- Returns who leads, the term, and for how many microseconds from now.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ttl = tonumber(ARGV[2])

-- A number that nobody can have written counts as lost.
local function whole(text)
  local n = text and string.match(text, '^%d+$') and tonumber(text)
  return n and n < 9007199254740992 and n
end

-- Numbers are written in full: Lua on its own would round them to 14 digits.
local function digits(n)
  return string.format('%.0f', n)
end

local lease = redis.call('HMGET', KEYS[1], 'owner', 'term', 'until', 'ttl')
local term, ends, span = whole(lease[2]), whole(lease[3]) or 0, whole(lease[4]) or 0
local owner = term and lease[1]

-- No lease ends later than its TTL from now. One that seems to was written before the clock was set back, or by a server
-- whose clock was ahead, and would keep everybody else waiting.
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
