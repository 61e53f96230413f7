-- Return. KEYS: the bucket. ARGV: the tokens, at most 2^52. The reply is as in bucket_take.lua. The
-- tokens are given back to the limit that wrote the value. If a number is not below 2^52, the client
-- decides.
local now = time[1] * 1000000 + time[2]
local before = redis.call('GET', KEYS[1]) or ''
local at, ns, kind, unit, middle, used = string.match(before, '^(%d+)(%d%d%d) ([cf])(%d+)( %d+ )(%d+) 0$')
local function number(digits) return #digits < 16 and tonumber(digits) or 2 ^ 52 end
local unchanged = {time[1], time[2], before}
if not at or #at ~= 16 then return unchanged end
local value, ends
if kind == 'c' then
  local owed, back = (at - now) * 1000 + ns, number(unit) * ARGV[1]
  if owed <= 0 or owed >= 2 ^ 52 or back >= 2 ^ 52 or back == 0 then return unchanged end
  owed = owed - back
  ends = now + math.floor(owed / 1000)
  value = owed > 0 and string.format('%016d%03d', ends, owed % 1000) .. string.sub(before, 20)
else
  local period, held = number(unit) / 1000, number(used)
  if period % 1 ~= 0 or at - now >= 0 or at + 0 < now - now % period or held >= 2 ^ 52 or held * ARGV[1] == 0 then return unchanged end
  held = held - ARGV[1]
  ends = at + period
  value = held > 0 and string.sub(before, 1, 20) .. kind .. unit .. middle .. string.format('%d', held) .. ' 0'
end
if not value then
  redis.call('DEL', KEYS[1])
  return {time[1], time[2], before, ''}
end
redis.call('SET', KEYS[1], value, 'PXAT', math.floor(ends / 1000) + 1)
return {time[1], time[2], before, value}
