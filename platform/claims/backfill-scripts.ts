import { begin, locate, runId, table } from './lua.ts';
import type { Script } from './lua.ts';

/**
 * ARGV: the lock, its TTL in ms, packed claims. Stores resolved claims, but keeps one that expires
 * later: with the same expiry the row that was published is newer than what Redis kept. Returns the
 * number stored, -1 when the lock is lost.
 */
export const loadScript: Script = {
  name: 'load',
  source: `${begin}${runId}
if call('GET', P .. 'filler') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return -1 end
call('PEXPIRE', P .. 'filler', ARGV[2])
${table}
local ids, loaded, o = ARGV[3], 0, 0
while o < #ids do
    ${locate}
    local size = byte(ids, o + 13)
    local value = sub(ids, o + 14, o + 13 + size)
    o = o + 14 + size + byte(ids, o + 14 + size)
    local v = call('HGET', k, id)
    local state = v and byte(v, 6)
    if not state or state == 0 or read('>I5', v) <= read('>I5', value) then
      call('HSET', k, id, value)
      loaded = loaded + 1
      if not v and e % 8 == 0 then grow(k) end
    end
end
return loaded
`,
};

/** ARGV: a nonce, lock TTL in ms. Returns loaded+marker, busy+lock or granted+lock. */
export const beginBackfillScript: Script = {
  name: 'begin-backfill',
  source: `${begin}${runId}
local marker = call('GET', P .. 'marker')
if marker and sub(marker, -#run) == run then return { 'loaded', marker } end
local lock = call('GET', P .. 'filler')
if lock and sub(lock, -#run) == run then return { 'busy', lock } end
lock = ARGV[1] .. ':' .. run
call('SET', P .. 'filler', lock, 'PX', ARGV[2])
call('DEL', P .. 'marker', P .. 'drained')
return { 'granted', lock }
`,
};

/** ARGV: the lock, its TTL in ms. Returns 1 while the lock is held in this run, else 0. */
export const renewLockScript: Script = {
  name: 'renew-lock',
  source: `${begin}${runId}
if call('GET', P .. 'filler') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return 0 end
return call('PEXPIRE', P .. 'filler', ARGV[2])
`,
};

/**
 * ARGV: the lock. Returns the fields and values of the recorded ends of events.normalised, -1 when
 * the lock is lost.
 */
export const recordedEndsScript: Script = {
  name: 'recorded-ends',
  source: `${begin}${runId}
if call('GET', P .. 'filler') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return -1 end
return call('HGETALL', P .. 'ends')
`,
};

/**
 * ARGV: the lock, a nonce ('' releases the lock without setting a marker). Returns the new marker,
 * '' when released, false when the lock was lost.
 */
export const endBackfillScript: Script = {
  name: 'end-backfill',
  source: `${begin}${runId}
if call('GET', P .. 'filler') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return false end
call('DEL', P .. 'filler', P .. 'drained')
if ARGV[2] == '' then return '' end
local marker = ARGV[2] .. ':' .. run
call('SET', P .. 'marker', marker)
return marker
`,
};

/**
 * ARGV: the lock, then the keys of partitions (epoch:partition) with nothing in flight. Returns all
 * drained partitions of this backfill, -1 when another backfill holds the lock.
 */
export const drainedScript: Script = {
  name: 'drained',
  source: `${begin}
if call('GET', P .. 'filler') ~= ARGV[1] then return -1 end
for j = 2, #ARGV do call('SADD', P .. 'drained', ARGV[j]) end
return call('SMEMBERS', P .. 'drained')
`,
};
