import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import { VerdictLog } from '../../pipeline/replay/verdict-log.ts';
import { topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import { decodeDeadLetter } from '../dlq/read-dead-letter.ts';

/** Clocks of brokers may differ by so much, ms. */
const CLOCK_SKEW_MS = 60_000;

export interface Verdicts {
  log: VerdictLog;
  /** Raw records from this offset on have all their verdicts in the log. */
  coveredFrom: number;
}

interface VerdictQuery {
  settings: KafkaSettings;
  admin: Admin;
}

/** The verdicts of a raw partition from the record on that the log took at `appendedAt` (ms). */
export async function openVerdicts(
  { settings, admin }: VerdictQuery,
  where: { partition: number; appendedAt: number; signal: AbortSignal },
): Promise<Verdicts> {
  const { partition, signal } = where;
  const ends = (await topicEnds(admin, TOPIC.verdicts)).find(
    (one) => one.partition === partition,
  ) ?? {
    low: 0,
    high: 0,
  };
  const offsets = await admin.fetchTopicOffsetsByTimestamp(
    TOPIC.verdicts,
    where.appendedAt - CLOCK_SKEW_MS,
  );
  const found = Number(offsets.find((one) => one.partition === partition)?.offset ?? -1);
  const from = found < 0 ? ends.high : Math.max(ends.low, found);
  const pieces = (range: { from: number; to: number }) =>
    readRange({
      settings,
      clientId: 'ravand-verdicts',
      range: { topic: TOPIC.verdicts, partition, ...range },
      signal,
    });
  let coveredFrom = 0;
  if (ends.low > 0) {
    coveredFrom = Number.POSITIVE_INFINITY;
    for await (const [first] of pieces({ from: ends.low, to: Math.min(ends.low + 1, ends.high) }))
      coveredFrom = first?.value
        ? (verdictRecordCodec.decode(first.value).verdicts[0]?.offset ?? coveredFrom) + 1
        : coveredFrom;
  }
  return { log: new VerdictLog(pieces({ from, to: ends.high })), coveredFrom };
}

/** More letters than these are no matter of single places. */
const MAX_POSITIONS = 2_000_000;

/**
 * Raw places that events.dead holds a letter of the normaliser for: they were no row when they were
 * taken. Reads the whole topic, once.
 */
export async function deadLetterPositions(
  { settings, admin }: VerdictQuery,
  signal: AbortSignal,
): Promise<(partition: number, at: { offset: number; index: number }) => boolean> {
  const places = new Set<string>();
  for (const { partition, low, high } of await topicEnds(admin, TOPIC.dead)) {
    const range = { topic: TOPIC.dead, partition, from: low, to: high };
    for await (const messages of readRange({
      settings,
      clientId: 'ravand-replay',
      range,
      signal,
    })) {
      for (const { value } of messages) {
        const letter = decodeDeadLetter(value);
        if (letter?.topic !== TOPIC.raw) continue;
        places.add(
          `${letter.partition} ${letter.index === null ? letter.offset : eventOffsetKey({ offset: letter.offset, index: letter.index })}`,
        );
        if (places.size > MAX_POSITIONS)
          throw new Error(
            `events.dead holds more than ${MAX_POSITIONS} letters: discard or redrive them first (./ravand dlq)`,
          );
      }
    }
  }
  return (partition, at) =>
    places.has(`${partition} ${eventOffsetKey(at)}`) || places.has(`${partition} ${at.offset}`);
}
