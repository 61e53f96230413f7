-- Take of a Continuous bucket. KEYS: the bucket. ARGV: the text of the limit, and these in
-- nanoseconds: the interval, the time to fill an empty bucket, the least and the most tokens.
-- Returns the time, the value, and the new value if the script has written one.
--
-- All numbers are below 2^52, and so exact. The time is in microseconds. The script grants tokens
-- only if this limit has written the value. Otherwise the client decides, and calls bucket_swap.lua.
local now = time[1] * 1000000 + time[2]
local before = redis.call('GET', KEYS[1])
local owed = 0
if before then
  if string.sub(before, 20) ~= ARGV[1] then return {time[1], time[2], before} end
  owed = math.max(0, (string.sub(before, 1, 16) - now) * 1000 + string.sub(before, 17, 19))
end
local free, taken = ARGV[3] - owed, ARGV[5] + 0
if free < taken then taken = free - free % ARGV[2] end
if taken <= 0 or taken < ARGV[4] + 0 then return {time[1], time[2], before or ''} end
owed = owed + taken
local at = now + math.floor(owed / 1000)
local after = string.format('%016d%03d', at, owed % 1000) .. ARGV[1]
redis.call('SET', KEYS[1], after, 'PXAT', math.floor(at / 1000) + 1)
return {time[1], time[2], before or '', after}
