import { isNobody } from '../../events/erasure/message-records.ts';
import { readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { epochAt, type EpochStart } from '../../platform/log/epochs.ts';
import type { Log } from '../../platform/log.ts';
import { messageOutcomeCodec, newerRelease } from '../../schemas/codec.ts';
import { ERASED, MESSAGE_STATUSES, type MessageOutcome } from '../../schemas/records.ts';
import { rowVersion } from './version.ts';

const STATUSES: ReadonlySet<string> = new Set(MESSAGE_STATUSES);

/** The columns of `messages` that an outcome decides. */
export const MESSAGE_COLUMNS = [
  ...['account_id', 'message_id', 'campaign_id', 'run_id', 'template_id', 'template_version'],
  ...['channel', 'category', 'person_id', 'user_id', 'address_hash', 'status', 'reason'],
  ...['provider', 'provider_message_id', 'planned_at', 'finished_at', 'attempts'],
] as const satisfies readonly (keyof MessageOutcome)[];

/** A row of `messages`, as ClickHouse reads it from JSON. */
export interface MessageRow extends Omit<MessageOutcome, 'planned_at' | 'finished_at'> {
  planned_at: string;
  finished_at: string;
  /** Decimal: it exceeds the exact range of a number. */
  version: string;
}

interface ReadOutcomes {
  /** Of the partition. */
  epochs: readonly EpochStart[];
  log: Log;
  onUnreadable?: () => void;
  /** ms since the epoch: messages that were planned before are not kept. */
  keptFrom?: (accountId: number) => number;
}

/**
 * The rows of consecutive records. What is left of an erased one is no row, nor is the outcome of a
 * recipient who was erased before; a damaged one is skipped. Throws UnreadableRecord for a schema
 * or status of a newer release: the partition waits.
 */
export function messageRows(
  messages: readonly ConsumedMessage[],
  { epochs, log, onUnreadable = () => undefined, keptFrom = () => 0 }: ReadOutcomes,
): MessageRow[] {
  const warning = 'the outcome of a message cannot be decoded and is not stored';
  return messages.flatMap((message) =>
    readOrSkip(
      message,
      ({ value, partition, offset }) => {
        const outcome = messageOutcomeCodec.decode(value ?? Buffer.alloc(0));
        if (outcome.status === ERASED || isNobody(outcome)) return [];
        if (!STATUSES.has(outcome.status)) throw newerRelease(`the status ${outcome.status}`);
        if (outcome.planned_at < keptFrom(outcome.account_id)) return [];
        return [rowOf(outcome, rowVersion({ epoch: epochAt(epochs, offset), offset, partition }))];
      },
      { log, warning, onUnreadable },
    ),
  );
}

function rowOf(outcome: MessageOutcome, version: bigint): MessageRow {
  return {
    ...outcome,
    planned_at: new Date(outcome.planned_at).toISOString(),
    finished_at: new Date(outcome.finished_at).toISOString(),
    version: String(version),
  };
}
