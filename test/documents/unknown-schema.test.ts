import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import pino from 'pino';
import { decodeRecord as decodeRaw } from '../../events/raw/decode-record.ts';
import { wholeRows } from '../../events/raw/decide.ts';
import { ContextReader } from '../../events/normalise.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import { rowBatchEvents } from '../../ops/replay/source.ts';
import { rowsOfDeadLetter } from '../../ops/dlq/store-rows.ts';
import { decodeDeadLetter } from '../../ops/dlq/read-dead-letter.ts';
import { countDeadLetter, countVerdicts, MinuteDeltas } from '../../pipeline/metering/count.ts';
import { readRawEvents } from '../../pipeline/replay/raw-events.ts';
import { VerdictLog } from '../../pipeline/replay/verdict-log.ts';
import { readRows as readRelayRows } from '../../pipeline/relays/read-rows.ts';
import { readOrSkip } from '../../platform/kafka/batch-task.ts';
import { decodeRecord as decodeRows } from '../../projections/events/decode.ts';
import { readAliases } from '../../projections/identities/read-aliases.ts';
import { commandTask, type IdentityDeps } from '../../projections/identities/task.ts';
import { readEvents } from '../../projections/profiles/read-events.ts';
import { identityCommandCodec } from '../../schemas/codec.ts';
import { BEFORE_FIRST } from '../../schemas/log-position.ts';
import type { DeadLetter, Verdict } from '../../schemas/records.ts';
import { SERVICES } from '../../schemas/topology.ts';

/** A record of a schema that this release does not have. */
const value = Buffer.concat([Buffer.of(0xc3, 1), Buffer.alloc(60, 0xee)]);
const message = {
  ...{ topic: 't', partition: 0, offset: 1, timestamp: 0, key: null },
  ...{ value, size: value.length },
};
const deadLetter = {
  ...{ stage: 'project', topic: 'events.normalised', partition: 0, offset: 1, index: 0 },
  ...{ account_id: 1, appended_at: 0, key: null, value },
} as DeadLetter;
const makeRow = wholeRows(new ContextReader(new UserAgentCache(1)));
const log = pino({ level: 'silent' });

const READERS: Record<string, () => unknown> = {
  normaliser: () => decodeRaw(message),
  'events-sink': () => decodeRows(message),
  'profiles-sink': () => readOrSkip(message, readEvents, { log, warning: '' }),
  'identities-sink': () => readOrSkip(message, readAliases, { log, warning: '' }),
  relays: () => readOrSkip(message, readRelayRows, { log, warning: '' }),
  'metering, rows of a dead letter': () =>
    countDeadLetter(new MinuteDeltas(), new Map(), deadLetter, () => 0),
  'metering, a verdict': () => {
    const verdict = { ...{ offset: 1, index: 0, account_id: 1, received_at: 0 }, verdict: 'later' };
    const verdicts = [verdict as unknown as Verdict];
    return countVerdicts(new MinuteDeltas(), BEFORE_FIRST, verdicts, () => 0);
  },
  'identities-sink, a command': () => {
    const command = { account_id: 1, command: 'later', previous_id: '', until: 0 };
    const bytes = identityCommandCodec.encode({ ...command, requested_at: 0, user_id: '' });
    const task = commandTask({ log } as IdentityDeps);
    return task.process([{ ...message, value: bytes, size: bytes.length }]);
  },
  'replay of events.raw': () => readRawEvents(message, { makeRow, epochOf: () => 0 }),
  'replay of events.normalised': () => rowBatchEvents(value),
  'replay of verdicts': async () => {
    const batches = async function* () {
      yield await Promise.resolve([{ value, offset: 0 }]);
    };
    return await new VerdictLog(batches()).between(0, 1);
  },
  'dead letters': () => decodeDeadLetter(value),
};

describe('a record of a newer release', () => {
  it.each(Object.entries(READERS))('is never skipped: %s', async (_, read) => {
    await expect((async () => await read())()).rejects.toThrow('a newer release wrote');
  });

  it('in a dead letter waits for that release, and says so', () => {
    expect(rowsOfDeadLetter(deadLetter, value)).toContain('a newer release wrote its rows');
  });

  it('is seen before its task in every service that consumes a topic, and makes it unready', () => {
    const consuming = SERVICES.map(({ folder }) => ({
      folder,
      app: readFileSync(join(import.meta.dirname, '../..', folder, 'app.ts'), 'utf8'),
    })).filter(({ app }) => app.includes('startPartitionConsumer'));
    expect(consuming.map(({ folder }) => folder)).toEqual([
      'pipeline/normalise',
      ...['events', 'profiles', 'identities', 'catalogue', 'quality', 'addresses', 'messages'].map(
        (name) => `projections/${name}`,
      ),
      ...['pipeline/metering', 'pipeline/relays'],
    ]);
    for (const { folder, app } of consuming) expect(app, folder).toContain('problems()');
  });
});
