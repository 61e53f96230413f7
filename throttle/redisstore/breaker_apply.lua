-- Apply. KEYS: the shard. ARGV: the writer's term, the expected epoch, the expected number, the channel, the shard's index, and
-- for each change 1 or 0 (write or delete), the record's ID, and its data.
-- Returns "fenced", "conflict", or the new epoch and number. Nothing is written before all is known to be well.
local field = redis.call('HGET', KEYS[1], 'version') or ''
local epoch, number, term = string.match(field, '^(%d+) (%d+) (%d+)$')

-- Terms have up to 20 digits, which no number of Lua's holds: they are compared as they are written.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function written(text, most)
  return text == '0' or string.match(text, '^[1-9]') and not less(most, text)
end

-- What cannot be read is lost, and so is what it belonged to.
local lost = not (epoch and written(epoch, '9007199254740991') and written(number, '999999999999999')
  and written(term, '18446744073709551615'))
if lost then
  epoch, number, term = '0', '0', '0'
end

if ARGV[1] ~= '0' and less(ARGV[1], term) then
  return {'fenced'}
end
if ARGV[2] ~= epoch or ARGV[3] ~= number then
  return {'conflict'}
end

if less(term, ARGV[1]) then
  term = ARGV[1]
elseif #ARGV == 5 then
  return {epoch, number}
end
if lost and redis.call('EXISTS', KEYS[1]) == 1 then -- a server without memory refuses no write that follows another
  redis.call('DEL', KEYS[1])
end
if #ARGV > 5 then
  if epoch == '0' then
    local time = redis.call('TIME')
    epoch = string.format('%.0f', time[1] * 1000000 + time[2])
  end
  number = string.format('%.0f', number + 1)
end
redis.call('HSET', KEYS[1], 'version', epoch .. ' ' .. number .. ' ' .. term)
for i = 6, #ARGV, 3 do
  if ARGV[i] == '1' then
    redis.call('HSET', KEYS[1], ARGV[i + 1], ARGV[i + 2])
  else
    redis.call('HDEL', KEYS[1], ARGV[i + 1])
  end
end
if #ARGV > 5 then
  redis.pcall('PUBLISH', ARGV[4], ARGV[5]) -- a hint, for which no write may fail
end
return {epoch, number}
