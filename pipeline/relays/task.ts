import { relayPayload } from '../../events/relays/payload.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { UnreadableRecord } from '../../schemas/codec.ts';
import type { Definitions, RelaysByAccount } from './definitions.ts';
import type { Delivery } from './delivery.ts';
import type { RelayLimits } from './limits.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RelayMetrics } from './metrics.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { readRows, type RelayRow } from './read-rows.ts';
import type { FirstAttempts } from './first-attempts.ts';
import { PositionMoved, type RelayStore } from './store.ts';

export interface TaskParts {
  store: Pick<RelayStore, 'position' | 'settle'>;
  definitions: Pick<Definitions, 'asOf'>;
  first: FirstAttempts;
  metrics: RelayMetrics;
  limits: RelayLimits;
  log: Log;
  partition: number;
  /** Aborts when the partition is taken away or the process ends. */
  signal: AbortSignal;
}

/**
 * Works one partition of events.normalised through: what a relay wants is attempted at once, and is
 * delivered or stands in the queue before the offset is committed. A place that was settled before
 * is skipped. While PostgreSQL is away the partition waits.
 */
export async function relayTask(parts: TaskParts): Promise<PartitionTask> {
  const { store, definitions, first, metrics, limits, log, partition, signal } = parts;
  let position = await retryUntilAborted(
    { log, signal, code: 'postgres_unreachable', what: 'reading the position of a partition' },
    () => store.position(partition),
  );
  let chunk: Delivery[] = [];
  let size = 0;
  let to: PartitionPosition = position;

  const settle = async (): Promise<void> => {
    if (chunk.length === 0) return;
    const deliveries = chunk;
    [chunk, size] = [[], 0];
    metrics.matched(deliveries.length);
    const from = position;
    await first.settle(deliveries, (entries) =>
      retryUntilAborted(
        {
          log,
          signal,
          code: 'postgres_unreachable',
          what: 'completing deliveries',
          isFinal: (error) => error instanceof PositionMoved,
        },
        () => store.settle({ partition, from, to, entries, lease: limits.leaseInHand }),
      ),
    );
    position = to;
  };

  const add = async (row: RelayRow, relays: RelaysByAccount): Promise<void> => {
    const mark = { epoch: row._epoch, offset: row._offset, index: row._index };
    if (comparePartitionPositions(mark, to) <= 0) return;
    const wanting = relays.get(row.account_id)?.filter((relay) => relay.wants(row)) ?? [];
    if (wanting.length === 0) return;
    const payload = relayPayload(row);
    const common = {
      accountId: row.account_id,
      place: { ...mark, partition: row._partition },
      messageId: row.message_id,
      event: row.event,
      payload,
      attempts: 0,
    };
    for (const { id } of wanting) chunk.push({ relayId: id, ...common });
    size += payload.length;
    to = mark;
    if (chunk.length >= limits.chunk || size >= limits.chunkSize) await settle();
  };

  return {
    from: undefined,
    async process(messages) {
      const last = messages.at(-1);
      if (!last) return undefined;
      const relays = await retryUntilAborted(
        { log, signal, code: 'postgres_unreachable', what: 'reading the relays' },
        () => definitions.asOf(last.timestamp),
      );
      for (const message of relays.size === 0 ? [] : messages)
        for (const row of readable(message)) await add(row, relays);
      await settle();
      return last.offset + 1;
    },
    release: () => Promise.resolve(),
  };

  function readable(message: ConsumedMessage): RelayRow[] {
    try {
      return readRows(message);
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
      metrics.unreadable();
      log.warn(
        { code: error.code, partition, offset: message.offset },
        'a record cannot be read and is not delivered; see events.dead',
      );
      return [];
    }
  }
}
