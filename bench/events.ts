import { UserAgentCache } from '../events/user-agent.ts';
import { ContextReader, normaliseEvent, type RecordFacts } from '../events/normalise.ts';
import { decideBatch } from '../events/validate.ts';
import { accountSeed, distinctIdHash } from '../events/partition.ts';
import { isJsonObject, type JsonObject } from '../events/json.ts';
import { coreWithoutPersian } from './events/without-persian.ts';
import { numericOptions } from './numbers.ts';

/**
 * Speed of the event core beside plain JSON.parse: `node bench/events.ts [--seconds 2]`. An item is
 * a track event of about 450 bytes; batches have 100 of them.
 */
const NOW = Date.UTC(2026, 10, 21, 10);
const BATCH = 100;
const { seconds: SECONDS } = numericOptions('events', { seconds: 2 });

const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const RECORD: RecordFacts = {
  account_id: 17,
  app_id: 3,
  received_at: NOW,
  source: 'sdk',
  ip: '203.0.113.9',
  user_agent: AGENT,
  trace: '6f1c52a09be4d378',
};

type Text = (index: number) => { event: string; title: string; category: string };
const ascii: Text = (index) => ({
  event: 'product_viewed',
  title: `Running shoes ${index}`,
  category: 'Sport and outdoor',
});
const persian: Text = (index) => ({
  event: 'product_viewed',
  title: `کفش ورزشی مردانه ${index}`,
  category: 'ورزشی و سفر',
});

function event(index: number, text: Text): JsonObject {
  const { event: name, title, category } = text(index);
  return {
    type: 'track',
    event: name,
    user_id: `user-${index % 50}-7f3a`,
    message_id: `0192f3c1-77aa-7c3e-9d52-${String(index).padStart(12, '0')}`,
    timestamp: new Date(NOW - index * 1000).toISOString(),
    properties: {
      product_id: `sku-${index}`,
      title,
      category,
      price: 1_250_000 + index,
      quantity: 2,
      in_stock: true,
    },
    context: {
      page: { url: `https://shop.example/p/${index}`, path: `/p/${index}`, title },
      library: { name: 'web', version: '1.4.2' },
      locale: 'fa-IR',
    },
  };
}

function batchOf(text: Text): string {
  return JSON.stringify({ batch: Array.from({ length: BATCH }, (_, index) => event(index, text)) });
}

let sink = 0;

interface Core {
  ContextReader: typeof ContextReader;
  normaliseEvent: typeof normaliseEvent;
}

function normaliserOf({ ContextReader, normaliseEvent }: Core): (body: unknown) => void {
  const reader = new ContextReader(new UserAgentCache(1000));
  return (body) => normaliseBatch(body, (input) => normaliseEvent(input, reader));
}

function normaliseBatch(
  body: unknown,
  normalise: (input: Parameters<Core['normaliseEvent']>[0]) => { revenue: number },
): void {
  const batch = isJsonObject(body) ? (body['batch'] as JsonObject[]) : [];
  batch.forEach((envelope, index) => {
    const item = { type: 'track' as const, message_id: 'm', dedupe_id: null, timestamp: NOW };
    const position = { epoch: 0, partition: 0, offset: 1, index };
    sink += normalise({
      record: RECORD,
      item,
      envelope,
      batchContext: undefined,
      position,
      acceptance: 1,
    }).revenue;
  });
}

function validateBatch(body: unknown): void {
  const decided = decideBatch({ body, now: NOW, windowMs: 30 * 86_400_000 });
  if (decided.outcome !== 'decided')
    throw new Error(`the batch was not decided: ${decided.outcome}`);
  const seed = accountSeed(RECORD.account_id);
  for (const accepted of decided.accepted) sink += distinctIdHash(seed, accepted.distinctId) % 4;
}

/** Items per second of `run`, which handles one batch, after a warm-up of 0.5 s. */
function measure(run: () => void): number {
  const warm = process.hrtime.bigint() + 500_000_000n;
  while (process.hrtime.bigint() < warm) run();
  const start = process.hrtime.bigint();
  const end = start + BigInt(Math.round(SECONDS * 1e9));
  let batches = 0;
  for (; process.hrtime.bigint() < end; batches++) run();
  return (batches * BATCH) / (Number(process.hrtime.bigint() - start) / 1e9);
}

/** CPU µs per item: medians of turns that alternate, so that other load affects all variants. */
function cpuInTurns(variants: Readonly<Record<string, () => void>>): Record<string, number> {
  const TURNS = 15;
  const spent: Record<string, number[]> = {};
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const [name, run] of Object.entries(variants)) {
      const start = process.cpuUsage();
      for (let batches = 0; batches < 200; batches++) run();
      const { user, system } = process.cpuUsage(start);
      // The first turn warms up.
      if (turn > 0) (spent[name] ??= []).push((user + system) / (200 * BATCH));
    }
  }
  return Object.fromEntries(
    Object.entries(spent).map(([name, all]) => [
      name,
      all.toSorted((a, b) => a - b)[TURNS >> 1] ?? NaN,
    ]),
  );
}

const normalise = normaliserOf({ ContextReader, normaliseEvent });

for (const [name, text] of [
  ['ascii', ascii],
  ['persian', persian],
] as const) {
  const json = batchOf(text);
  const body: unknown = JSON.parse(json);
  const rates: Record<string, number> = {
    'JSON.parse': measure(() => void JSON.parse(json)),
    'validate and partition': measure(() => validateBatch(body)),
    'parse, validate and partition': measure(() => validateBatch(JSON.parse(json))),
    normalise: measure(() => normalise(body)),
    'parse and normalise': measure(() => normalise(JSON.parse(json))),
  };
  const bare = rates['JSON.parse'] ?? NaN;
  console.log(`${name}: ${Math.round(Buffer.byteLength(json) / BATCH)} bytes per item`);
  for (const [what, rate] of Object.entries(rates)) {
    console.log(
      `  ${what.padEnd(30)} ${Math.round(rate).toLocaleString('en').padStart(10)} items/s  ${(1e6 / rate).toFixed(2).padStart(6)} µs  ${(bare / rate).toFixed(2)} x JSON.parse`,
    );
  }
}
const plain = normaliserOf(await coreWithoutPersian());
const bodies = {
  ascii: JSON.parse(batchOf(ascii)) as unknown,
  persian: JSON.parse(batchOf(persian)) as unknown,
};
const cpu = cpuInTurns({
  'ascii, without Persian normalisation': () => plain(bodies.ascii),
  ascii: () => normalise(bodies.ascii),
  'persian, without Persian normalisation': () => plain(bodies.persian),
  persian: () => normalise(bodies.persian),
});
console.log('the step "normalise" with and without Persian normalisation, CPU time:');
for (const [what, micros] of Object.entries(cpu)) {
  const bare = cpu[`${what.split(',')[0] ?? ''}, without Persian normalisation`] ?? NaN;
  console.log(
    `  ${what.padEnd(40)} ${micros.toFixed(3)} µs per item  ${(micros / bare).toFixed(2)} x without`,
  );
}
if (!Number.isFinite(sink)) console.log(sink);
