-- Probe. KEYS: a counter for each request. ARGV: for each request since when, in microseconds, the length of a period, the budget of a
-- period, and what is wanted. Returns for each what is granted, and in how many microseconds the next period begins.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- A counter is when its period ends, and how much of the budget is used. It still counts if that is within one period from now: a clock
-- that is set back a little begins no new period, and one that is set back a lot, or a length that was changed, does.
local function read(key, every)
  local ends, used = string.match(redis.call('GET', key) or '', '^(%d+) (%d+)$')
  ends, used = tonumber(ends), tonumber(used)
  if ends and now < ends and ends - now <= every then
    return ends, used
  end
end

local grants = {}
for i, key in ipairs(KEYS) do
  local since, every, budget, want = unpack(ARGV, 4 * i - 3, 4 * i)
  since, every, budget, want = tonumber(since), tonumber(every), tonumber(budget), tonumber(want)
  local granted, remaining = 0, since - now
  if remaining <= 0 then
    local ends, used = read(key, every)
    if not ends then
      ends, used = since + (math.floor((now - since) / every) + 1) * every, 0
    end
    granted, remaining = math.max(0, math.min(want, budget - used)), ends - now
    if granted > 0 then
      local value = string.format('%.0f %.0f', ends, used + granted)
      redis.call('SET', key, value, 'PX', string.format('%.0f', math.ceil(remaining / 1000) + 1000))
    end
  end
  grants[2 * i - 1], grants[2 * i] = granted, remaining
end
return grants
