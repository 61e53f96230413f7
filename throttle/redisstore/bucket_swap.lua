-- Writes a value that the client has computed, if no other call has changed the value since. KEYS:
-- the bucket. ARGV: the value that the client has read, the new one, and when it expires. The reply
-- is as in bucket_take.lua.
local before = redis.call('GET', KEYS[1]) or ''
if before ~= ARGV[1] then return {time[1], time[2], before} end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
end
return {time[1], time[2], before, ARGV[2]}
