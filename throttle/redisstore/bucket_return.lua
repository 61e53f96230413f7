-- Return. KEYS: the bucket. ARGV: "continuous", the interval, and what is returned, as time; or "fixed", the period, and what is returned,
-- in tokens. Returns the time, and the level before and after.
local h, l = read(ARGV[3])
local after = before
local function answer()
  return {written(nowh, nowl), before, after}
end

-- A full bucket is one that nobody knows.
local function forget()
  redis.call('DEL', KEYS[1])
  return ''
end

if fixed then
  local bh, bl = begins()
  if less(ath, atl, bh, bl) then return answer() end -- of a period that is over
  if less(usedh, usedl, h, l) then
    usedh, usedl = 0, 0
  else
    usedh, usedl = sub(usedh, usedl, h, l)
  end
  if usedh == 0 and usedl == 0 and not less(nowh, nowl, ath, atl) then
    after = forget()
  else -- also a period that has not begun, because the clock has stepped back: it must not begin twice
    after = keep(ath, atl, usedh, usedl, add(ath, atl, unith, unitl))
  end
  return answer()
end

ath, atl = sub(ath, atl, h, l)
if less(nowh, nowl, ath, atl) then
  after = keep(ath, atl, 0, 0, ath, atl)
else
  after = forget()
end
return answer()
