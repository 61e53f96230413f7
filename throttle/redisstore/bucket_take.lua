-- Take. KEYS: the bucket. ARGV: "continuous", the interval, what an empty bucket takes to fill, and the least and the most that is wanted,
-- all of them as time; or "fixed", the period, the capacity, and the least and the most that is wanted, in tokens.
-- Returns the time, and the level before and after: from these the client knows the rest.
local wholeh, wholel = read(ARGV[3])
local leasth, leastl = read(ARGV[4])
local mosth, mostl = read(ARGV[5])

local after = before
local function answer()
  return {written(nowh, nowl), before, after}
end

-- Nothing is written for nobody: neither if there is too little, nor if nothing is taken.
local function refused(h, l)
  return less(h, l, leasth, leastl) or h == 0 and l == 0
end

-- But a level that was too far ahead is brought back by the first denial, or the bucket would be empty until then.
local function denied(h, l)
  return less(h, l, leasth, leastl)
end

if fixed then
  local bh, bl = begins()
  local uh, ul = 0, 0
  local nexth, nextl = add(nowh, nowl, unith, unitl)
  local ahead = less(nexth, nextl, ath, atl)
  if ahead then -- of a clock that was far ahead
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
  if refused(h, l) then return answer() end
  uh, ul = add(uh, ul, h, l)
  after = keep(bh, bl, uh, ul, add(bh, bl, unith, unitl))
  return answer()
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
if less(h, l, mosth, mostl) then -- all that is there, in whole tokens
  h, l = sub(h, l, remainder(h, l, unith, unitl))
else
  h, l = mosth, mostl
end
if ahead and denied(h, l) then
  after = keep(fullh, fulll, 0, 0, fullh, fulll)
end
if refused(h, l) then return answer() end
fullh, fulll = add(fullh, fulll, h, l)
after = keep(fullh, fulll, 0, 0, fullh, fulll)
return answer()
