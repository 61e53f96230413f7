-- Probe. KEYS: a counter for each request. ARGV: for each request the start of the first period,
-- the length of a period, the budget of a period, and the number of probes wanted. Returns for each
-- request the number granted, and the time until the next period begins. All times are in
-- microseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Returns the end of the current period and the number of probes used, or nothing if a new period
-- begins. A counter is valid if its period ends within one period from now. So a clock that is set
-- back by less than that continues the period. A new period begins if the clock is set back
-- further, or if the periods become shorter than the time that remains.
local function parse(key, every)
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
    local ends, used = parse(key, every)
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
