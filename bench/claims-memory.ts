import { randomFillSync } from 'node:crypto';
import { Redis } from 'ioredis';
import { parseLine } from '../cli/arguments.ts';
import { OwnRedis } from '../test/integration/claims/redis-under-test.ts';

/**
 * node bench/claims-memory.ts [--ids 10000000] [--bytes 4] [--per-key 512] [--slices 16]
 * Memory of decision 0015's candidates on a redis-server of its own: fingerprints of `bytes` bytes,
 * packed in strings, one for a bucket, with a part for each slice of the window. Fingerprints are
 * random: those of SHA-256 are as good as. Also what a look-up costs, and how many ids that were
 * never stored are found, against what is expected.
 */
const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench claims-memory -- [--ids N] [--bytes N] [--per-key N] [--slices N]',
  options: {
    ids: { type: 'string', default: '10000000' },
    bytes: { type: 'string', default: '4' },
    'per-key': { type: 'string', default: '512' },
    slices: { type: 'string', default: '16' },
  },
});
const [ids, bytes, perKey, slices] = [
  ...[values.ids, values.bytes, values['per-key'], values.slices],
].map(Number) as [number, number, number, number];
const keys = Math.ceil(ids / perKey);

/** Keys in one pipeline. */
const PIPELINE = 200;
const LOOK_UPS = 200_000;
const IDS_A_CALL = 1000;

/** A part is slice(1) count(2) fingerprints. Like the scripts of claims, one call for many ids. */
const FIND = `
local width, found = tonumber(ARGV[1]), 0
local ids, sub, find, call = ARGV[2], string.sub, string.find, redis.call
for o = 1, #ids, 4 + width do
  local packed = call('GET', '{clm}:c' .. sub(ids, o, o + 3))
  if packed then
    local print, at = sub(ids, o + 4, o + 3 + width), 1
    while at <= #packed do
      local last = at + 2 + struct.unpack('>I2', packed, at + 1) * width
      local hit = find(packed, print, at + 3, true)
      while hit and hit + width - 1 <= last and (hit - at - 3) % width ~= 0 do
        hit = find(packed, print, hit + 1, true)
      end
      if hit and hit + width - 1 <= last then
        found = found + 1
        break
      end
      at = last + 1
    end
  end
end
return found`;

const server = await OwnRedis.start();
const redis = new Redis(server.url);
try {
  await redis.config('SET', 'appendonly', 'no');
  const before = await info('memory', 'used_memory');
  for (let from = 0; from < keys; from += PIPELINE) {
    const line = redis.pipeline();
    for (let key = from; key < Math.min(keys, from + PIPELINE); key += 1)
      line.set(keyOf(key), packed());
    await line.exec();
  }
  const used = (await info('memory', 'used_memory')) - before;
  const cpu = await info('cpu', 'used_cpu_user_main_thread');
  let found = 0;
  for (let done = 0; done < LOOK_UPS; done += IDS_A_CALL)
    found += Number(await redis.eval(FIND, 0, bytes, lookUps()));
  const ms = ((await info('cpu', 'used_cpu_user_main_thread')) - cpu) * 1000;
  const stored = keys * Math.floor(perKey / slices) * slices;
  const expected = (LOOK_UPS * perKey) / 256 ** bytes;
  console.log(
    JSON.stringify({
      ...{ ids: stored, keys, bytes, slices, used_memory: used },
      bytes_per_id: Number((used / stored).toFixed(2)),
      look_up_ms_per_1000: Number(((ms / LOOK_UPS) * 1000).toFixed(2)),
      ...{ look_ups: LOOK_UPS, found, expected: Number(expected.toFixed(2)) },
    }),
  );
} finally {
  redis.disconnect();
  await server.stop();
}

function keyOf(key: number): Buffer {
  const name = Buffer.alloc(11);
  name.write('{clm}:c');
  name.writeUInt32BE(key, 7);
  return name;
}

function packed(): Buffer {
  const count = Math.floor(perKey / slices);
  const part = 3 + count * bytes;
  const all = randomFillSync(Buffer.allocUnsafe(part * slices));
  for (let slice = 0; slice < slices; slice += 1) {
    all.writeUInt8(slice, slice * part);
    all.writeUInt16BE(count, slice * part + 1);
  }
  return all;
}

function lookUps(): Buffer {
  const all = randomFillSync(Buffer.allocUnsafe(IDS_A_CALL * (4 + bytes)));
  for (let at = 0; at < all.length; at += 4 + bytes)
    all.writeUInt32BE(Math.floor(Math.random() * keys), at);
  return all;
}

async function info(section: string, field: string): Promise<number> {
  const value = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.info(section))?.[1];
  if (value === undefined) throw new Error(`Redis does not report ${field}`);
  return Number(value);
}
