import { relayPayload } from '../../events/relays/payload.ts';
import { readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import type { Definitions, RelaysByAccount } from './definitions.ts';
import type { Delivery } from './delivery.ts';
import type { RelayLimits } from './limits.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RelayMetrics } from './metrics.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { readRows, type RelayRow } from './read-rows.ts';
import type { FirstAttempts } from './first-attempts.ts';
import { PositionMoved, type RelayStore } from './store.ts';

export interface PartitionTaskDeps {
  store: Pick<RelayStore, 'position' | 'complete'>;
  definitions: Pick<Definitions, 'asOf'>;
  firstAttempts: FirstAttempts;
  metrics: RelayMetrics;
  limits: RelayLimits;
  log: Log;
  partition: number;
  /** Aborts when the partition is revoked or the process ends. */
  signal: AbortSignal;
}

/**
 * Processes one partition of events.normalised: attempts each matching delivery, which is delivered
 * or in the queue before the offset is committed. Skips positions that are completed already. While
 * PostgreSQL is unavailable, the partition waits.
 */
export async function relayPartitionTask(deps: PartitionTaskDeps): Promise<PartitionTask> {
  const { store, definitions, firstAttempts, metrics, limits, log, partition, signal } = deps;
  let position = await retryUntilAborted(
    { log, signal, code: 'postgres_unreachable', what: 'reading the position of a partition' },
    () => store.position(partition),
  );
  let chunk: Delivery[] = [];
  let characters = 0;
  let to: PartitionPosition = position;

  const complete = async (): Promise<void> => {
    if (chunk.length === 0) return;
    const deliveries = chunk;
    [chunk, characters] = [[], 0];
    metrics.matched(deliveries.length);
    const from = position;
    await firstAttempts.complete(deliveries, (results) =>
      retryUntilAborted(
        {
          log,
          signal,
          code: 'postgres_unreachable',
          what: 'completing deliveries',
          isFinal: (error) => error instanceof PositionMoved,
        },
        () => store.complete({ partition, from, to, results, lease: limits.leaseInFlight }),
      ),
    );
    position = to;
  };

  const add = async (row: RelayRow, relays: RelaysByAccount): Promise<void> => {
    const next = { epoch: row._epoch, offset: row._offset, index: row._index };
    if (comparePartitionPositions(next, to) <= 0) return;
    const matching = relays.get(row.account_id)?.filter((relay) => relay.matches(row)) ?? [];
    if (matching.length === 0) return;
    const payload = relayPayload(row);
    const common = {
      accountId: row.account_id,
      position: { ...next, partition: row._partition },
      messageId: row.message_id,
      event: row.event,
      payload,
      attempts: 0,
    };
    for (const { id } of matching) chunk.push({ relayId: id, ...common });
    characters += payload.length;
    to = next;
    if (chunk.length >= limits.chunkDeliveries || characters >= limits.chunkCharacters)
      await complete();
  };

  const skip = {
    log,
    warning: 'a record cannot be decoded and is not delivered; see events.dead',
    onUnreadable: () => metrics.unreadable(),
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
        for (const row of readOrSkip(message, readRows, skip)) await add(row, relays);
      await complete();
      return last.offset + 1;
    },
    release: () => Promise.resolve(),
  };
}
