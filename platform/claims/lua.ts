/**
 * Every change of claims is a script, one call for many ids, so that read and write are atomic.
 * KEYS[1] is the prefix of all keys of a shard; its hash tag keeps them in one slot. It is no key
 * itself: while a slot moves, the node that receives it answers, and that one has no marker. Ids,
 * values and replies are packed as in events/claims. Byte offsets in Lua count from 1: byte 6 of a
 * value is its state (missing: durable, 0: pending, else resolved).
 */
export interface Script {
  readonly name: string;
  readonly source: string;
}

/**
 * A bucket with more entries than this makes the table split: a trade of memory per claim against
 * the time to search a bucket, measured in docs/deduplication.md.
 */
export const BUCKET_LIMIT = 64;

/** Stands in the scripts for the number of buckets with which a table starts. */
export const FIRST_BUCKETS = 'FIRST_BUCKETS';

/** The same of packs (packs.ts). */
export const FIRST_PACKS = 'FIRST_PACKS';

export const begin = `
local P = KEYS[1]
local byte, sub, call = string.byte, string.sub, redis.call
local pack, read = struct.pack, struct.unpack
`;

/**
 * n: number of buckets, m: roundSize (events/claims/bucket.ts). One insert in eight, chosen by bits
 * of the id, checks whether its bucket is over the limit.
 */
export const table = `
local n = tonumber(call('GET', P .. 'count')) or ${FIRST_BUCKETS}
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

/** The id after offset o of ids, and the key of its bucket. */
export const locate = `
    local a, b, c, d, e = byte(ids, o + 1, o + 5)
    local i = (((a * 256 + b) * 256 + c) * 256 + d) % m2
    if i >= n then i = i - m end
    local k = P .. pack('>I4', i)
    local id = sub(ids, o + 1, o + 12)
`;

/**
 * run_id changes with every restart and failover of Redis, whatever data the new process loaded.
 */
export const runId = `
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
`;

/**
 * Ends the script unless the claims were loaded into this run of Redis, with the marker ARGV[1].
 */
export const loadedOnly = `${runId}
if call('GET', P .. 'marker') ~= ARGV[1] or sub(ARGV[1], -#run) ~= run then return '!' end
`;
