import { begin, FIRST_BUCKETS, locate, runId, table } from './lua.ts';
import type { Script } from './lua.ts';
import { packs, packWriting, visitBucket } from './packs.ts';

/**
 * ARGV: the permit of this shard, its TTL in ms, packed claims. Stores resolved claims, but keeps
 * one that expires later: with the same expiry the row that was published is newer than what Redis
 * kept. The same row may be packed: the claim then precedes it, and leaves with the next round of
 * packing. Returns the number stored, -1 when the permit is void.
 */
export const loadScript: Script = {
  name: 'load',
  source: `${begin}${runId}
if call('GET', P .. 'loading') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return -1 end
call('PEXPIRE', P .. 'loading', ARGV[2])
${table}${packs}
local ids, loaded, o = ARGV[3], 0, 0
while o < #ids do
    ${locate}
    local size = byte(ids, o + 13)
    local value = sub(ids, o + 14, o + 13 + size)
    o = o + 14 + size + byte(ids, o + 14 + size)
    o = o + 1 + byte(ids, o + 1)
    local v = call('HGET', k, id)
    local state = v and byte(v, 6)
    local expires, held = read('>I5', value)
    if state and state > 0 then
      held = read('>I5', v) > expires
    else
      local since = packed(id)
      held = since and since > expires
    end
    if not held then
      call('HSET', k, id, value)
      loaded = loaded + 1
      if not v and e % 8 == 0 then grow(k) end
    end
end
return loaded
`,
};

/**
 * ARGV: the permit, its TTL in ms, the window, now, the age from which stored claims are packed,
 * buckets to visit from a number on, pairs of partition and the offset of events.raw up to which
 * everything is stored. Packs claims while they are loaded. Returns the number of the next bucket,
 * 0 after the last one, and the number packed; -1 when the permit is void.
 */
export const packScript: Script = {
  name: 'pack',
  source: `${begin}${runId}
if call('GET', P .. 'loading') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return -1 end
call('PEXPIRE', P .. 'loading', ARGV[2])
local ttl, now = tonumber(ARGV[3]), tonumber(ARGV[4])
for j = 8, #ARGV, 2 do call('HSET', P .. 'stored', ARGV[j], ARGV[j + 1]) end
${packs}${packWriting}${visitBucket}
local n = tonumber(call('GET', P .. 'count')) or ${FIRST_BUCKETS}
local from = tonumber(ARGV[7])
local to = math.min(n, from + tonumber(ARGV[6]))
for i = from, to - 1 do visit(P .. pack('>I4', i), -1, -1, now + ttl - tonumber(ARGV[5])) end
growPacks()
return { to < n and to or 0, moved }
`,
};

/** Returns the marker of this shard, '' when it does not hold the loaded claims. */
export const markerScript: Script = {
  name: 'marker',
  source: `${begin}${runId}
local marker = call('GET', P .. 'marker')
return marker and sub(marker, -#run) == run and marker or ''
`,
};

/**
 * On the first shard. ARGV: a nonce, lock TTL in ms. Returns busy+lock or granted+lock. The lock is
 * void in another run of Redis.
 */
export const lockScript: Script = {
  name: 'lock',
  source: `${begin}${runId}
local lock = call('GET', P .. 'filler')
if lock and sub(lock, -#run) == run then return { 'busy', lock } end
lock = ARGV[1] .. ':' .. run
call('SET', P .. 'filler', lock, 'PX', ARGV[2])
call('DEL', P .. 'drained')
return { 'granted', lock }
`,
};

/** On the first shard. ARGV: the lock, its TTL in ms. Returns 1 while the lock is held, else 0. */
export const renewLockScript: Script = {
  name: 'renew-lock',
  source: `${begin}${runId}
if call('GET', P .. 'filler') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return 0 end
return call('PEXPIRE', P .. 'filler', ARGV[2])
`,
};

/** On the first shard. ARGV: the lock. */
export const unlockScript: Script = {
  name: 'unlock',
  source: `${begin}
if call('GET', P .. 'filler') == ARGV[1] then call('DEL', P .. 'filler', P .. 'drained') end
return 1
`,
};

/**
 * ARGV: the lock, TTL in ms, '1' when a shard that holds the loaded claims is to be loaded as well.
 * Returns a permit to load this shard, '' when it holds the loaded claims. The permit of an earlier
 * holder of the lock becomes void.
 */
export const permitScript: Script = {
  name: 'permit',
  source: `${begin}${runId}
local marker = call('GET', P .. 'marker')
if ARGV[3] ~= '1' and marker and sub(marker, -#run) == run then return '' end
local permit = ARGV[1] .. ':' .. run
call('SET', P .. 'loading', permit, 'PX', ARGV[2])
call('DEL', P .. 'marker')
return permit
`,
};

/** ARGV: the permit, its TTL in ms. Returns 1 while the permit is valid in this run, else 0. */
export const renewPermitScript: Script = {
  name: 'renew-permit',
  source: `${begin}${runId}
if call('GET', P .. 'loading') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return 0 end
return call('PEXPIRE', P .. 'loading', ARGV[2])
`,
};

/**
 * ARGV: the permit. Returns the fields and values of the recorded ends of events.normalised, -1
 * when the permit is void.
 */
export const recordedEndsScript: Script = {
  name: 'recorded-ends',
  source: `${begin}${runId}
if call('GET', P .. 'loading') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return -1 end
return call('HGETALL', P .. 'ends')
`,
};

/**
 * ARGV: the permit, a nonce. Sets a new marker. Returns it, '' when the permit is void. A call
 * whose reply was lost may be repeated with the same nonce.
 */
export const finishScript: Script = {
  name: 'finish',
  source: `${begin}${runId}
local marker = ARGV[2] .. ':' .. run
if call('GET', P .. 'marker') == marker then return marker end
if call('GET', P .. 'loading') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return '' end
call('DEL', P .. 'loading')
call('SET', P .. 'marker', marker)
return marker
`,
};

/**
 * On the first shard. ARGV: the lock, then the keys of partitions (epoch:partition) with nothing in
 * flight. Returns all drained partitions of this backfill, -1 when another backfill holds the lock.
 */
export const drainedScript: Script = {
  name: 'drained',
  source: `${begin}
if call('GET', P .. 'filler') ~= ARGV[1] then return -1 end
for j = 2, #ARGV do call('SADD', P .. 'drained', ARGV[j]) end
return call('SMEMBERS', P .. 'drained')
`,
};
