-- Apply. KEYS: the shard. ARGV: the writer's term, the expected epoch, the expected number, the
-- channel, the shard's index, and for each change 1 or 0 (write or delete), the record's ID, its
-- data. Returns "fenced", "conflict", or the new epoch and number. All checks run before the first
-- write.
local field = redis.call('HGET', KEYS[1], 'version') or ''
local epoch, number, term = string.match(field, '^(%d+) (%d+) (%d+)$')

-- Compares numbers as texts. A term has up to 20 digits, more than a number of Lua holds exactly.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

-- Reports whether the text is a number without leading zeros, and at most max.
local function valid(text, max)
  return text == '0' or string.match(text, '^[1-9]') and not less(max, text)
end

-- A shard with an invalid version is lost. The limits are those of parseVersion.
local lost = not (epoch and valid(epoch, '9007199254740991') and valid(number, '999999999999999')
  and valid(term, '18446744073709551615'))
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
-- A server without free memory refuses HSET, but not after another write of the same script. So the
-- script calls DEL only if there is a key.
if lost and redis.call('EXISTS', KEYS[1]) == 1 then
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
  redis.pcall('PUBLISH', ARGV[4], ARGV[5]) -- pcall: the write succeeds even if this fails
end
return {epoch, number}
