-- Return. KEYS: the bucket. ARGV: "continuous", the interval, and the returned tokens as a time; or
-- "fixed", the period, and the number of returned tokens.
-- Returns the time, and the level before and after.
local h, l = parse(ARGV[3])
local after = before
local function reply()
  return {format(nowh, nowl), before, after}
end

-- Deletes the key. A bucket without a key is full.
local function fill()
  redis.call('DEL', KEYS[1])
  return ''
end

if fixed then
  local bh, bl = begins()
  if less(ath, atl, bh, bl) then return reply() end -- the tokens are of an earlier period
  if less(usedh, usedl, h, l) then
    usedh, usedl = 0, 0
  else
    usedh, usedl = sub(usedh, usedl, h, l)
  end
  if usedh == 0 and usedl == 0 and not less(nowh, nowl, ath, atl) then
    after = fill()
  else -- keep also an unused period that begins in the future, after the clock was set back: it must not begin twice
    after = keep(ath, atl, usedh, usedl, add(ath, atl, unith, unitl))
  end
  return reply()
end

ath, atl = sub(ath, atl, h, l)
if less(nowh, nowl, ath, atl) then
  after = keep(ath, atl, 0, 0, ath, atl)
else
  after = fill()
end
return reply()
