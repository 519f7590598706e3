import { FIRST_BUCKET_COUNT } from '../../events/claims/bucket.ts';

/**
 * Everything that changes claims runs in Redis, one script call for many ids, so that looking and
 * writing are one step. KEYS[1] is the prefix of all keys; a hash tag in it ('{clm}:') keeps them
 * in one slot. Ids, values and answers are packed as in events/claims. Byte numbers in the scripts
 * count from 1: byte 6 of a value tells its state (none: durable, 0: pending, else placed).
 */
export interface Script {
  readonly name: string;
  readonly source: string;
}

/**
 * Buckets are split when one holds more entries than this: bytes a claim against the time to search
 * a bucket, measured in docs/deduplication.md.
 */
export const BUCKET_LIMIT = 64;

export const begin = `
local P = KEYS[1]
local byte, sub, call = string.byte, string.sub, redis.call
local pack, read = struct.pack, struct.unpack
`;

/**
 * n buckets, m the round's size: see events/claims/bucket.ts. Every eighth insert, by the id's own
 * bits, looks whether its bucket is over the limit.
 */
export const table = `
local n = tonumber(call('GET', P .. 'count')) or ${FIRST_BUCKET_COUNT}
local _, exponent = math.frexp(n)
local m = 2 ^ (exponent - 1)
local m2 = m * 2
local function grow(full)
  if call('HLEN', full) <= ${BUCKET_LIMIT} then return end
  local from, to = P .. pack('>I4', n - m), P .. pack('>I4', n)
  local all, moved, gone = call('HGETALL', from), {}, {}
  for j = 1, #all, 2 do
    local a, b, c, d = byte(all[j], 1, 4)
    if (((a * 256 + b) * 256 + c) * 256 + d) % m2 == n then
      moved[#moved + 1] = all[j]
      moved[#moved + 1] = all[j + 1]
      gone[#gone + 1] = all[j]
    end
  end
  if #gone > 0 then
    call('HSET', to, unpack(moved))
    call('HDEL', from, unpack(gone))
  end
  n = n + 1
  if n == m2 then m, m2 = m2, m2 * 2 end
  call('SET', P .. 'count', n)
end
`;

/** The id behind position o of ids, and the key of its bucket. */
export const locate = `
    local a, b, c, d, e = byte(ids, o + 1, o + 5)
    local i = (((a * 256 + b) * 256 + c) * 256 + d) % m2
    if i >= n then i = i - m end
    local k = P .. pack('>I4', i)
    local id = sub(ids, o + 1, o + 12)
`;

/**
 * Redis names each run of its process: a restart or failover has another run_id, whatever data it
 * came up with.
 */
export const runId = `
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
`;

/** Ends the script unless this very run of Redis was filled under the marker ARGV[1]. */
export const loadedOnly = `${runId}
if call('GET', P .. 'marker') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return '!' end
`;
