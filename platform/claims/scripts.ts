import { CLAIM_TIME_ORIGIN } from '../../events/claims/claim-time.ts';
import { begin, FIRST_BUCKETS, loadedOnly, locate, table } from './lua.ts';
import type { Script } from './lua.ts';

/**
 * ARGV: confirms, which are groups of expires(5) count(2) ids; ids to claim; the pending value (''
 * writes no pending claims); now; window in ms. Returns one claimCode per id. Confirms come first,
 * so that the claims of the same call see them. Resolved claims belong to the normaliser and are
 * never changed here.
 */
export const claimScript: Script = {
  name: 'claim',
  source: `${begin}${table}
local pending, now, ttl = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local own = sub(pending, 6)
local ids = ARGV[1]
local at = 0
while at < #ids do
  local durable = sub(ids, at + 1, at + 5)
  local since = read('>I5', durable) - ttl
  local last = at + 7 + (read('>I2', ids, at + 6) - 1) * 12
  for o = at + 7, last, 12 do
    ${locate}
    local v = pending ~= '' and call('HGET', k, id)
    if not v and call('HSETNX', k, id, durable) == 1 then
      if e % 8 == 0 then grow(k) end
    else
      v = v or call('HGET', k, id)
      local state = byte(v, 6)
      if state == 0 or (not state and read('>I5', v) <= since) then call('HSET', k, id, durable) end
    end
  end
  at = last + 12
end
ids = ARGV[2]
local codes = {}
for o = 0, #ids - 12, 12 do
    ${locate}
    local v = false
    if pending == '' or call('HSETNX', k, id, pending) == 0 then v = call('HGET', k, id) end
    if not v then
      codes[#codes + 1] = 'C'
      if pending ~= '' and e % 8 == 0 then grow(k) end
    else
      local state, expires = byte(v, 6), read('>I5', v)
      if state and state > 0 then
        codes[#codes + 1] = expires > now and 'D' or 'E'
      elseif expires <= now then
        if pending ~= '' then call('HSET', k, id, pending) end
        codes[#codes + 1] = 'C'
      elseif not state then
        codes[#codes + 1] = 'D'
      else
        codes[#codes + 1] = sub(v, 6) == own and 'O' or 'P'
      end
    end
end
return table.concat(codes)
`,
};

/**
 * Removes the ids that are pending with the token ARGV[2] (0x00 and 8 bytes). Returns their number.
 */
export const releaseScript: Script = {
  name: 'release',
  source: `${begin}${table}
local ids, own, released = ARGV[1], ARGV[2], 0
for o = 0, #ids - 12, 12 do
    ${locate}
    local v = call('HGET', k, id)
    if v and sub(v, 6) == own then released = released + call('HDEL', k, id) end
end
return released
`,
};

/** Returns the stored values of the ids, nil where there is none. Read-only. */
export const peekScript: Script = {
  name: 'peek',
  source: `${begin}${table}
local ids, values = ARGV[1], {}
for o = 0, #ids - 12, 12 do
    ${locate}
    values[#values + 1] = call('HGET', k, id)
end
return values
`,
};

/**
 * ARGV: the expected marker, the window in ms, packed claims. Returns '!' when Redis does not hold
 * the loaded claims, else a resolutionCode per claim, followed by the position of the holder for a
 * repeat or duplicate. Two events are duplicates when their receive times are less than the window
 * apart, in either order: a spool may deliver the earlier one later.
 */
export const resolveScript: Script = {
  name: 'resolve',
  source: `${begin}${loadedOnly}${table}
local ttl, ids = tonumber(ARGV[2]), ARGV[3]
local codes = {}
local o = 0
while o < #ids do
    ${locate}
    local size = byte(ids, o + 13)
    local value = sub(ids, o + 14, o + 13 + size)
    local position = sub(value, 6, -5)
    o = o + 14 + size
    local from = sub(ids, o + 1, o + byte(ids, o))
    o = o + #from
    local v = call('HGET', k, id)
    local state = v and byte(v, 6)
    if not state or state == 0 then
      call('HSET', k, id, value)
      codes[#codes + 1] = 'F'
      if not v and e % 8 == 0 then grow(k) end
    elseif sub(v, 6, 5 + #position) == position then
      codes[#codes + 1] = 'R'
    elseif from ~= '' and sub(v, 6, 5 + #from) == from then
      call('HSET', k, id, value)
      codes[#codes + 1] = 'F'
    else
      local held, new = read('>I5', v), read('>I5', value)
      if new - held >= ttl then
        call('HSET', k, id, value)
        codes[#codes + 1] = 'F'
      elseif held - new >= ttl then
        codes[#codes + 1] = 'F'
      else
        local acceptance = sub(v, -4)
        local code = acceptance ~= '\\0\\0\\0\\0' and acceptance == sub(value, -4) and 'Q' or 'D'
        codes[#codes + 1] = code .. sub(v, 6, -5)
      end
    end
end
return table.concat(codes)
`,
};

/**
 * ARGV: the expected marker, now, slack, buckets to visit, epoch, partition count, the number of
 * partitions whose progress follows, pairs of partition and processed-until time of the caller,
 * then pairs of partition and end of events.normalised, read before this call. Times later than the
 * clock of Redis count as its clock: a process whose clock is ahead removes nothing early. A
 * resolved claim is removed once every partition has been processed past its expiry by the slack;
 * other claims when they expire. Returns buckets visited, entries seen, entries removed, bucket
 * count; '!' when Redis does not hold the loaded claims.
 */
export const sweepScript: Script = {
  name: 'sweep',
  source: `${begin}${loadedOnly}
local time = call('TIME')
local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - ${CLAIM_TIME_ORIGIN}
local now, slack, visits, epoch, partitions = math.min(clock, tonumber(ARGV[2])), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local last = 7 + 2 * tonumber(ARGV[7])
for j = 8, last, 2 do
  local field, processed = epoch .. ':' .. ARGV[j], math.min(clock, tonumber(ARGV[j + 1]))
  call('HSET', P .. 'progress', field, string.format('%.0f', processed))
end
for j = last + 1, #ARGV, 2 do call('HSET', P .. 'ends', epoch .. ':' .. ARGV[j], ARGV[j + 1]) end
local horizon = now
for p = 0, partitions - 1 do
  local processed = call('HGET', P .. 'progress', epoch .. ':' .. p)
  horizon = math.min(horizon, tonumber(processed or slack))
end
horizon = horizon - slack
local n = tonumber(call('GET', P .. 'count')) or ${FIRST_BUCKETS}
local cursor = tonumber(call('GET', P .. 'cursor')) or 0
local seen, removed = 0, 0
visits = math.min(visits, n)
for _ = 1, visits do
  cursor = cursor % n
  local k = P .. pack('>I4', cursor)
  local all, gone = call('HGETALL', k), {}
  for j = 1, #all, 2 do
    local v = all[j + 1]
    local state = byte(v, 6)
    if read('>I5', v) <= ((state and state > 0) and horizon or now) then gone[#gone + 1] = all[j] end
  end
  if #gone > 0 then call('HDEL', k, unpack(gone)) end
  seen = seen + #all / 2
  removed = removed + #gone
  cursor = cursor + 1
end
call('SET', P .. 'cursor', cursor)
return { visits, seen, removed, n }
`,
};
