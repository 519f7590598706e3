import { CLAIM_TIME_ORIGIN } from '../../events/claims/claim-time.ts';
import { begin, FIRST_BUCKETS, loadedOnly, locate, table } from './lua.ts';
import type { Script } from './lua.ts';
import { packs, packWriting, PART_HEADER_BYTES, visitBucket } from './packs.ts';

/**
 * ARGV: confirms, which are groups of expires(5) count(2) ids; ids to claim; the pending value (''
 * writes no pending claims); now; window in ms. Returns one claimCode per id. Confirms come first,
 * so that the claims of the same call see them. Resolved claims, packed ones among them, belong to
 * the normaliser and are never changed here. Of a packed claim only the part is known: one that may
 * have ended is answered as ended, and the normaliser decides.
 */
export const claimScript: Script = {
  name: 'claim',
  source: `${begin}${table}${packs}
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
    local v = (pending ~= '' or packCount) and call('HGET', k, id)
    if v or not packed(id) then
      if not v and call('HSETNX', k, id, durable) == 1 then
        if e % 8 == 0 then grow(k) end
      else
        v = v or call('HGET', k, id)
        local state = byte(v, 6)
        if state == 0 or (not state and read('>I5', v) <= since) then call('HSET', k, id, durable) end
      end
    end
  end
  at = last + 12
end
ids = ARGV[2]
local codes = {}
for o = 0, #ids - 12, 12 do
    ${locate}
    local v = call('HGET', k, id)
    local since = not v and packed(id)
    if since then
      codes[#codes + 1] = since > now and 'D' or 'E'
    elseif not v then
      codes[#codes + 1] = 'C'
      if pending ~= '' then
        call('HSET', k, id, pending)
        if e % 8 == 0 then grow(k) end
      end
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

/**
 * Returns the stored values of the ids; of a packed one since(5) until(5) of its part; nil where
 * there is none. Read-only.
 */
export const peekScript: Script = {
  name: 'peek',
  source: `${begin}${table}${packs}
local ids, values = ARGV[1], {}
for o = 0, #ids - 12, 12 do
    ${locate}
    local v = call('HGET', k, id)
    if not v then
      local since, till = packed(id)
      v = since and pack('>I5I5', since, till) or false
    end
    values[#values + 1] = v
end
return values
`,
};

/**
 * ARGV: the expected marker, the window in ms, packed claims. Returns '!' when Redis does not hold
 * the loaded claims, else a resolutionCode per claim, followed by the position of the holder for a
 * repeat or duplicate. Two events are duplicates when their receive times are less than the window
 * apart, in either order: a spool may deliver the earlier one later.
 *
 * A packed claim has neither position nor acceptance, and its expiry is that of one of its part.
 * Another acceptance was received at another time, so outside the times of the part only a redriven
 * event and the edge of the window need more: the code is then 'A' with since(5) until(5) of the
 * part, nothing is written, and the caller asks for the stored row, also for later claims of the
 * id. Each claim ends with what the caller knows of it, after its length: nothing; 1: the position
 * may have been decided before, so answer 'A' if it is packed; 0: the packed claim has no row; or
 * the resolved entry of its row.
 */
export const resolveScript: Script = {
  name: 'resolve',
  source: `${begin}${loadedOnly}${table}${packs}
local ttl, ids = tonumber(ARGV[2]), ARGV[3]
local function ofPacked(id, new, from, known)
  local since, till = packed(id)
  if not since then return end
  local ask = 'A' .. pack('>I5I5', since, till)
  if known == '\\1' then return ask end
  local isSame = new >= since and new <= till
  local isEnded, isEarlier = new - till >= ttl, since - new >= ttl
  local isInside = new - since < ttl and till - new < ttl
  if known == '\\0' then
    if from == '' and (isSame or isInside) then return 'U' end
    return new < since and 'F' or nil
  end
  if from ~= '' or isSame then return ask end
  if isInside then return 'U' end
  if isEnded then return end
  return isEarlier and 'F' or ask
end
local codes, asked = {}, {}
local o = 0
while o < #ids do
    ${locate}
    local size = byte(ids, o + 13)
    local value = sub(ids, o + 14, o + 13 + size)
    local position = sub(value, 6, -5)
    o = o + 14 + size
    local from = sub(ids, o + 1, o + byte(ids, o))
    o = o + #from
    local known = sub(ids, o + 2, o + 1 + byte(ids, o + 1))
    o = o + 1 + #known
    local code, v
    local isAdded = known == '' and not asked[id] and call('HSETNX', k, id, value) == 1
    if isAdded then
      code = ofPacked(id, read('>I5', value), from, known)
      if code then call('HDEL', k, id)
      else
        code = 'F'
        if e % 8 == 0 then grow(k) end
      end
    else v = call('HGET', k, id) end
    local state = v and byte(v, 6)
    if not isAdded and (not state or state == 0) then
      if #known > 1 then v, state = known, 1
      else code = asked[id] or ofPacked(id, read('>I5', value), from, known) end
    end
    if code then
      if #code > 1 then asked[id] = code end
      codes[#codes + 1] = code
    elseif not state or state == 0 then
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
 * ARGV: the expected marker, now, slack, buckets to visit, epoch, partition count, the window, the
 * age from which stored claims are packed or -1, the numbers of partitions whose progress follows
 * and of those whose stored offset follows, pairs of partition and processed-until time of the
 * caller, pairs of partition and the offset of events.raw up to which everything is stored, then
 * pairs of partition and end of events.normalised, read before this call. Times later than the
 * clock of Redis count as its clock: a process whose clock is ahead removes nothing early. A
 * resolved claim is removed once every partition has been processed past its expiry by the slack;
 * other claims when they expire. Packs are visited in proportion. Returns buckets visited, entries
 * seen, claims removed, bucket count, claims packed; '!' when Redis does not hold the loaded
 * claims.
 */
export const sweepScript: Script = {
  name: 'sweep',
  source: `${begin}${loadedOnly}
local ttl = tonumber(ARGV[7])
local progressed = 10 + 2 * tonumber(ARGV[9])
local last = progressed + 2 * tonumber(ARGV[10])
for j = progressed + 1, last, 2 do call('HSET', P .. 'stored', ARGV[j], ARGV[j + 1]) end
${packs}${packWriting}${visitBucket}
local time = call('TIME')
local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - ${CLAIM_TIME_ORIGIN}
local now, slack, visits, epoch, partitions = math.min(clock, tonumber(ARGV[2])), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
for j = 11, progressed, 2 do
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
local age = tonumber(ARGV[8])
local packing = age < 0 and -1 or now + ttl - age
visits = math.min(visits, n)
for _ = 1, visits do
  cursor = cursor % n
  visit(P .. pack('>I4', cursor), now, horizon, packing)
  cursor = cursor + 1
end
call('SET', P .. 'cursor', cursor)
local packCursor = tonumber(call('GET', P .. 'pack-cursor')) or 0
for _ = 1, math.min(pn, math.ceil(visits * pn / n)) do
  packCursor = packCursor % pn
  local head = call('GETRANGE', packKey(packCursor), 0, ${PART_HEADER_BYTES - 1})
  if head ~= '' and read('>I5', head, 6) <= horizon then
    removed = removed + writePack(packCursor, {}, horizon)
  end
  packCursor = packCursor + 1
end
call('SET', P .. 'pack-cursor', packCursor)
growPacks()
return { visits, seen, removed, n, moved }
`,
};
