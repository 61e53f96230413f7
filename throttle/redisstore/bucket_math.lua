-- What the scripts of buckets share. Before it stands the clock: a local "time" of seconds and microseconds.

-- Numbers have up to 63 bits, and Lua's own are exact up to 53 only. So each is two: how many thousand millions, and what is left of it.
-- Of a time these are seconds and nanoseconds.
local part = 1000000000

local function read(digits)
  return tonumber(string.sub(digits, 1, -10)) or 0, tonumber(string.sub(digits, -9))
end

local function written(high, low)
  if high == 0 then return string.format('%.0f', low) end
  return string.format('%.0f%09.0f', high, low)
end

local function less(ah, al, bh, bl)
  return ah < bh or ah == bh and al < bl
end

local function add(ah, al, bh, bl)
  local low = al + bl
  if low >= part then return ah + bh + 1, low - part end
  return ah + bh, low
end

local function sub(ah, al, bh, bl)
  local low = al - bl
  if low < 0 then return ah - bh - 1, low + part end
  return ah - bh, low
end

-- n has up to 60 bits, of which 20 at a time meet 30 of the other's: no step needs more than 53.
local function times(n, h, l)
  local ph, pl = 0, 0
  for i = 2, 0, -1 do
    local digit = math.floor(n / 2 ^ (20 * i)) % 2 ^ 20
    ph, pl = ph * 2 ^ 20 + h * digit, pl * 2 ^ 20 + l * digit
    local carry = math.floor(pl / part)
    ph, pl = ph + carry, pl - carry * part
  end
  return ph, pl
end

-- What a division by b leaves. Each round guesses the quotient, a little too low by more than the six roundings of a guess are worth, and
-- takes away exactly that much. One or two rounds are the rule.
local function remainder(ah, al, bh, bl)
  local divisor = bh * part + bl
  while not less(ah, al, bh, bl) do
    local n = math.max(1, math.floor((ah * part + al) / divisor * (1 - 2 ^ -50)))
    ah, al = sub(ah, al, times(n, bh, bl))
  end
  return ah, al
end

-- The level as it is written: "at used", of 63 bits each. What nobody can have written is lost, and the bucket full.
local function believed(digits)
  return digits == '0' or string.match(digits, '^[1-9]')
    and (#digits < 19 or #digits == 19 and digits <= '9223372036854775807')
end

local before = redis.call('GET', KEYS[1]) or ''
local at, used = string.match(before, '^(%d+) (%d+)$')
if not (at and believed(at) and believed(used)) then
  before, at, used = '', '0', '0'
end
local ath, atl = read(at)
local usedh, usedl = read(used)
local nowh, nowl = time[1] + 0, time[2] * 1000
local fixed = ARGV[1] == 'fixed'
local unith, unitl = read(ARGV[2])

local function begins()
  return sub(nowh, nowl, remainder(nowh, nowl, unith, unitl))
end

-- Keeps a level until the bucket is full, rounded up to what expiry counts in. It is a time, and no time to live, because the one ends with
-- the same clock as the other, and two roundings can be less than one.
local function keep(h, l, uh, ul, fullh, fulll)
  local after = written(h, l) .. ' ' .. written(uh, ul)
  redis.call('SET', KEYS[1], after, 'PXAT', string.format('%.0f', fullh * 1000 + math.ceil(fulll / 1000000)))
  return after
end
