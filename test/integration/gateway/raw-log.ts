import { ingestOutcomeCodec, rawRecordCodec } from '../../../schemas/codec.ts';
import { recordsInBatch } from '../../../schemas/raw-batch.ts';
import type { IngestOutcome, RawRecord } from '../../../schemas/records.ts';
import { readTopic, topicEnds, type Message } from '../../support/read-topic.ts';

export type StoredRaw = Omit<Message, 'value'> & {
  record: RawRecord;
  /** Number of its first item in the raw batch that it is part of; 0 for a record of its own. */
  firstIndex: number;
};

/** Resolves with a function that reads what was appended to a topic since, in log order. */
export async function watchTopic(topic: string): Promise<() => Promise<Message[]>> {
  const from = await topicEnds(topic);
  return async () => readTopic({ topic, from, to: await topicEnds(topic) });
}

/** The raw records of an account among messages. */
export function rawOf(messages: readonly Message[], accountId: number): StoredRaw[] {
  return messages
    .flatMap(({ value, ...rest }) =>
      (recordsInBatch(value) ?? [{ firstIndex: 0, value }]).map((one) => ({
        ...rest,
        record: rawRecordCodec.decode(one.value),
        firstIndex: one.firstIndex,
      })),
    )
    .filter(({ record }) => record.account_id === accountId);
}

export function outcomesOf(messages: readonly Message[], accountId: number): IngestOutcome[] {
  return messages
    .map(({ value }) => ingestOutcomeCodec.decode(value))
    .filter((outcome) => outcome.account_id === accountId);
}

/** Message ids of raw records in log order, with repeats. */
export function messageIds(raw: readonly StoredRaw[]): string[] {
  return raw.flatMap(({ record }) => record.items.map((item) => item.message_id));
}
