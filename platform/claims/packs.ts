import { FIRST_PACKS } from './lua.ts';

/**
 * Packs hold the claims of stored events in few bytes (docs/deduplication.md, "Packs"). A pack is a
 * string of parts, oldest first; a part has the claims of one sixteenth of the window:
 *
 *     since(5) until(5) count(2)     the first and the last expiry of its claims
 *     count entries of 9 bytes       bytes 1 and 5 to 12 of the id
 *
 * Packs are the buckets of a linear hash table of their own (events/claims/bucket.ts). Its address
 * begins with bits of bytes 3 and 4 of the id, as many as the table has at the start: no entry
 * needs them. The bits above come from bytes 1 and 5, which are in the entry, so a pack can split.
 */
export const PACKED_ID_BYTES = 9;
export const PART_HEADER_BYTES = 12;

/** A pack with more entries than this makes the table split. */
export const PACK_LIMIT = 1024;

/** A count has two bytes. What does not fit stays a claim. */
const PART_LIMIT = 0xffff;

/**
 * pn: number of packs, pm: roundSize. `packed` returns since and until of the latest part that has
 * the id, nothing when there is none. A table without a pack has no count: nothing is looked for.
 */
export const packs = `
local find = string.find
local packCount = call('GET', P .. 'pack-count')
local pn = tonumber(packCount) or ${FIRST_PACKS}
local _, packExponent = math.frexp(pn)
local pm = 2 ^ (packExponent - 1)
local function packKey(i) return P .. 'p' .. pack('>I4', i) end
local function packOf(id)
  local a, _, c, d, e = byte(id, 1, 5)
  local i = ((e * 256 + a) * ${FIRST_PACKS} + (c * 256 + d) % ${FIRST_PACKS}) % (pm * 2)
  if i >= pn then i = i - pm end
  return i
end
local function packed(id)
  if not packCount then return end
  local parts = call('GET', packKey(packOf(id)))
  local entry = sub(id, 1, 1) .. sub(id, 5)
  local hit = parts and find(parts, entry, 1, true)
  if not hit then return end
  local at, since, till = 1
  while hit and at < #parts do
    local first = at + ${PART_HEADER_BYTES}
    local last = first + read('>I2', parts, at + 10) * ${PACKED_ID_BYTES} - 1
    while hit and hit <= last do
      if hit >= first and (hit - first) % ${PACKED_ID_BYTES} == 0 then
        local ends = read('>I5', parts, at + 5)
        if not till or ends > till then since, till = read('>I5', parts, at), ends end
      end
      hit = find(parts, entry, hit + 1, true)
    end
    at = last + 1
  end
  return since, till
end
`;

/**
 * Needs `packs`, and ttl, the window in ms. `isStored` reads a resolved claim: whether its event is
 * below the offset up to which events-sink has stored all of its partition. `writePack` adds
 * claims (entry, expiry, entry, expiry …) to a pack without its parts that ended by `horizon`, and
 * returns how many ids these had. The table splits at the end of the script, by `growPacks`.
 */
export const packWriting = `
local stored, width = {}, ttl / 16
local all = call('HGETALL', P .. 'stored')
for j = 1, #all, 2 do stored[tonumber(all[j])] = tonumber(all[j + 1]) end
local function varint(v, at)
  local value, scale = 0, 1
  while true do
    local b = byte(v, at)
    at = at + 1
    if b < 128 then return value + b * scale, at end
    value, scale = value + (b - 128) * scale, scale * 128
  end
end
local function isStored(v)
  local _, partition, offset, at
  _, at = varint(v, 6)
  partition, at = varint(v, at)
  offset = varint(v, at)
  return offset < (stored[partition] or 0)
end
local function partsOf(all)
  local list, at = {}, 1
  while at < #all do
    local since, till, count = read('>I5I5I2', all, at)
    local first = at + ${PART_HEADER_BYTES}
    at = first + count * ${PACKED_ID_BYTES}
    list[#list + 1] = { since = since, till = till, count = count, sub(all, first, at - 1) }
  end
  return list
end
local function joined(list)
  table.sort(list, function(a, b) return a.since < b.since end)
  local out = {}
  for _, part in ipairs(list) do
    out[#out + 1] = pack('>I5I5I2', part.since, part.till, part.count)
    for _, some in ipairs(part) do out[#out + 1] = some end
  end
  return table.concat(out)
end
local function isIn(part, entry)
  for _, some in ipairs(part) do
    local hit = find(some, entry, 1, true)
    while hit do
      if (hit - 1) % ${PACKED_ID_BYTES} == 0 then return true end
      hit = find(some, entry, hit + 1, true)
    end
  end
  return false
end
local tooLarge = 0
local function writePack(i, claims, horizon)
  local key = packKey(i)
  local before = call('GET', key)
  local parts, ended, count = {}, 0, 0
  for _, part in ipairs(partsOf(before or '')) do
    if part.till <= horizon then ended = ended + part.count
    else
      parts[#parts + 1] = part
      count = count + part.count
    end
  end
  local added = {}
  for j = 1, #claims, 2 do
    local entry, expires = claims[j], claims[j + 1]
    local slice, part = math.floor(expires / width)
    for _, one in ipairs(parts) do
      if math.floor(one.since / width) == slice and one.count < ${PART_LIMIT} then part = one end
    end
    if not part then
      part = { since = expires, till = expires, count = 0 }
      parts[#parts + 1] = part
    end
    if not isIn(part, entry) then
      part[#part + 1] = entry
      part.count, count = part.count + 1, count + 1
    end
    part.since, part.till = math.min(part.since, expires), math.max(part.till, expires)
  end
  if count > 0 then
    if not packCount then
      packCount = pn
      call('SET', P .. 'pack-count', pn)
    end
    call('SET', key, joined(parts))
  elseif before then call('DEL', key) end
  if count > ${PACK_LIMIT} then tooLarge = tooLarge + 1 end
  return ended
end
local function growPacks()
  for _ = 1, math.min(tooLarge, 4) do
    local number = pn - pm
    local all, low = call('GET', packKey(number)), number % ${FIRST_PACKS}
    local stay, go = {}, {}
    for _, part in ipairs(partsOf(all or '')) do
      local here, there = {}, {}
      for at = 1, #part[1], ${PACKED_ID_BYTES} do
        local a, e = byte(part[1], at, at + 1)
        local to = ((e * 256 + a) * ${FIRST_PACKS} + low) % (pm * 2) == pn and there or here
        to[#to + 1] = sub(part[1], at, at + ${PACKED_ID_BYTES} - 1)
      end
      for list, some in pairs({ [stay] = here, [go] = there }) do
        if #some > 0 then
          list[#list + 1] =
            { since = part.since, till = part.till, count = #some, table.concat(some) }
        end
      end
    end
    if #go > 0 then
      call('SET', packKey(pn), joined(go))
      if #stay > 0 then call('SET', packKey(number), joined(stay))
      else call('DEL', packKey(number)) end
    end
    pn = pn + 1
    if pn == pm * 2 then pm = pn end
    call('SET', P .. 'pack-count', pn)
  end
  tooLarge = 0
end
`;

/**
 * Needs `packWriting`. Visits the bucket k: removes resolved claims that ended by `horizon`, others
 * that ended by `now`, and moves stored claims that end by `packing` into packs; `packing` is
 * negative where nothing is packed. A move is within the script: an id is always in one place.
 * Adds to seen, removed and moved.
 */
export const visitBucket = `
local seen, removed, moved = 0, 0, 0
local function visit(k, now, horizon, packing)
  local entries, gone, byPack = call('HGETALL', k), {}, {}
  for j = 1, #entries, 2 do
    local id, v = entries[j], entries[j + 1]
    local state, expires = byte(v, 6), read('>I5', v)
    local isResolved = state and state > 0
    if expires <= (isResolved and horizon or now) then
      gone[#gone + 1] = id
      removed = removed + 1
    elseif isResolved and expires <= packing and isStored(v) then
      gone[#gone + 1] = id
      moved = moved + 1
      local i = packOf(id)
      local claims = byPack[i] or {}
      byPack[i] = claims
      claims[#claims + 1] = sub(id, 1, 1) .. sub(id, 5)
      claims[#claims + 1] = expires
    end
  end
  for i, claims in pairs(byPack) do removed = removed + writePack(i, claims, horizon) end
  if #gone > 0 then call('HDEL', k, unpack(gone)) end
  seen = seen + #entries / 2
end
`;
