-- Take of a Fixed bucket. KEYS: the bucket. ARGV: the text of the limit after the microseconds, the
-- period in microseconds, the capacity, the least and the most tokens. The rest is as in bucket_take.lua.
local now = time[1] * 1000000 + time[2]
local before = redis.call('GET', KEYS[1])
local begin, used = now - now % ARGV[2], 0
if before then
  local rest = 16 + #ARGV[1]
  if string.sub(before, 17, rest) ~= ARGV[1] or string.sub(before, -2) ~= ' 0' then return {time[1], time[2], before} end
  local at = string.sub(before, 1, 16) + 0
  used = string.sub(before, rest + 1, -3) + 0
  if at > begin or used > ARGV[3] + 0 then return {time[1], time[2], before} end
  if at < begin then used = 0 end
end
local taken = math.min(ARGV[5], ARGV[3] - used)
if taken <= 0 or taken < ARGV[4] + 0 then return {time[1], time[2], before or ''} end
local after = string.format('%016d%s%d 0', begin, ARGV[1], used + taken)
redis.call('SET', KEYS[1], after, 'PXAT', math.floor((begin + ARGV[2]) / 1000) + 1)
return {time[1], time[2], before or '', after}
