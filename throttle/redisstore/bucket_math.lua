-- The shared functions of the bucket scripts. The clock comes before them: a local "time" of
-- seconds and microseconds.

-- The numbers have up to 63 bits, and numbers of Lua are exact only up to 53 bits. So each number
-- is a pair: thousand millions (high) and the rest (low). For a time these are seconds and
-- nanoseconds.
local part = 1000000000

local function parse(digits)
  return tonumber(string.sub(digits, 1, -10)) or 0, tonumber(string.sub(digits, -9))
end

local function format(high, low)
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

-- Multiplies by n, which has up to 60 bits. Each step multiplies 20 bits by 30 bits, so no result
-- needs more than 53 bits.
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

-- Returns the remainder of a division by b. Each round estimates the quotient and subtracts that
-- many times b, exactly. The estimate is reduced by more than its six roundings can add, so it is
-- never too high. Usually there are one or two rounds.
local function remainder(ah, al, bh, bl)
  local divisor = bh * part + bl
  while not less(ah, al, bh, bl) do
    local n = math.max(1, math.floor((ah * part + al) / divisor * (1 - 2 ^ -50)))
    ah, al = sub(ah, al, times(n, bh, bl))
  end
  return ah, al
end

-- Reports whether the text is a number of up to 63 bits without leading zeros.
local function valid(digits)
  return digits == '0' or string.match(digits, '^[1-9]')
    and (#digits < 19 or #digits == 19 and digits <= '9223372036854775807')
end

-- The level is "at used". If it is invalid, the bucket is full.
local before = redis.call('GET', KEYS[1]) or ''
local at, used = string.match(before, '^(%d+) (%d+)$')
if not (at and valid(at) and valid(used)) then
  before, at, used = '', '0', '0'
end
local ath, atl = parse(at)
local usedh, usedl = parse(used)
local nowh, nowl = time[1] + 0, time[2] * 1000
local fixed = ARGV[1] == 'fixed'
local unith, unitl = parse(ARGV[2])

-- Returns the time at which the current period began.
local function begins()
  return sub(nowh, nowl, remainder(nowh, nowl, unith, unitl))
end

-- Stores a level until the bucket is full, rounded up to a millisecond. The expiry is a time (PXAT)
-- and not a duration: Redis compares it with the same clock, and it is rounded only once.
local function keep(h, l, uh, ul, fullh, fulll)
  local after = format(h, l) .. ' ' .. format(uh, ul)
  redis.call('SET', KEYS[1], after, 'PXAT', string.format('%.0f', fullh * 1000 + math.ceil(fulll / 1000000)))
  return after
end
