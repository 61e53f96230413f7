-- Take. KEYS: the bucket. ARGV: "continuous", the interval, the time to fill an empty bucket, and
-- the least and the most tokens wanted, both as times; or "fixed", the period, the capacity, and
-- the least and the most tokens wanted. Returns the time, and the level before and after. The
-- client computes the decision from these.
local wholeh, wholel = parse(ARGV[3])
local leasth, leastl = parse(ARGV[4])
local mosth, mostl = parse(ARGV[5])

local after = before
local function reply()
  return {format(nowh, nowl), before, after}
end

-- Reports whether there are fewer tokens than the least.
local function denied(h, l)
  return less(h, l, leasth, leastl)
end

-- Reports whether no tokens are taken. Then nothing is written, except after a denial if the level
-- is too far ahead: the level becomes that of an empty bucket, or it would stay too far ahead.
local function untouched(h, l)
  return denied(h, l) or h == 0 and l == 0
end

if fixed then
  local bh, bl = begins()
  local uh, ul = 0, 0
  local nexth, nextl = add(nowh, nowl, unith, unitl)
  local ahead = less(nexth, nextl, ath, atl)
  if ahead then -- the clock was far ahead before
    uh, ul = wholeh, wholel
  elseif not less(ath, atl, bh, bl) then
    bh, bl, uh, ul = ath, atl, usedh, usedl
  end
  local h, l = 0, 0
  if less(uh, ul, wholeh, wholel) then
    h, l = sub(wholeh, wholel, uh, ul)
  end
  if less(mosth, mostl, h, l) then
    h, l = mosth, mostl
  end
  if ahead and denied(h, l) then
    after = keep(bh, bl, uh, ul, add(bh, bl, unith, unitl))
  end
  if untouched(h, l) then return reply() end
  uh, ul = add(uh, ul, h, l)
  after = keep(bh, bl, uh, ul, add(bh, bl, unith, unitl))
  return reply()
end

local emptyh, emptyl = add(nowh, nowl, wholeh, wholel)
local fullh, fulll = nowh, nowl
if less(nowh, nowl, ath, atl) then
  fullh, fulll = ath, atl
end
local ahead = less(emptyh, emptyl, fullh, fulll)
if ahead then
  fullh, fulll = emptyh, emptyl
end
local h, l = sub(emptyh, emptyl, fullh, fulll)
if less(h, l, mosth, mostl) then -- take all whole tokens of the bucket
  h, l = sub(h, l, remainder(h, l, unith, unitl))
else
  h, l = mosth, mostl
end
if ahead and denied(h, l) then
  after = keep(fullh, fulll, 0, 0, fullh, fulll)
end
if untouched(h, l) then return reply() end
fullh, fulll = add(fullh, fulll, h, l)
after = keep(fullh, fulll, 0, 0, fullh, fulll)
return reply()
