import { begin, locate, runId, table } from './lua.ts';
import type { Script } from './lua.ts';

/**
 * ARGV: the filler's lock, its time to live in ms, packed entries. Fills in places, but keeps one
 * that lasts as long. Answers -1 when the lock is lost.
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
    if not state or state == 0 or read('>I5', v) < read('>I5', value) then
      call('HSET', k, id, value)
      loaded = loaded + 1
      if not v and e % 8 == 0 then grow(k) end
    end
end
return loaded
`,
};

/**
 * ARGV: a nonce, the lock's time to live in ms. Answers {'filled', marker}, {'busy', the lock} or
 * {'granted', the lock}.
 */
export const beginBackfillScript: Script = {
  name: 'begin-fill',
  source: `${begin}${runId}
local marker = call('GET', P .. 'marker')
if marker and sub(marker, -#run) == run then return { 'filled', marker } end
local lock = call('GET', P .. 'filler')
if lock and sub(lock, -#run) == run then return { 'busy', lock } end
lock = ARGV[1] .. ':' .. run
call('SET', P .. 'filler', lock, 'PX', ARGV[2])
call('DEL', P .. 'marker', P .. 'drained')
return { 'granted', lock }
`,
};

/** ARGV: the lock, its time to live in ms. Answers 1 while the lock is held in this run, else 0. */
export const renewLockScript: Script = {
  name: 'renew-fill',
  source: `${begin}${runId}
if call('GET', P .. 'filler') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return 0 end
return call('PEXPIRE', P .. 'filler', ARGV[2])
`,
};

/**
 * ARGV: the lock, a nonce ('' gives the lock up without having filled). Answers the new marker, ''
 * when given up, false when the lock was lost.
 */
export const endBackfillScript: Script = {
  name: 'end-fill',
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
 * ARGV: the lock, then the names of partitions (epoch:partition) that have nothing in flight.
 * Answers how many names this fill has; -1: another fill.
 */
export const drainedScript: Script = {
  name: 'drained',
  source: `${begin}
if call('GET', P .. 'filler') ~= ARGV[1] then return -1 end
for j = 2, #ARGV do call('SADD', P .. 'drained', ARGV[j]) end
return call('SMEMBERS', P .. 'drained')
`,
};
