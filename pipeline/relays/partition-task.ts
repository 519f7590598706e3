import { relayPayload } from '../../events/relays/payload.ts';
import { readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { LaterCommits, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';
import type { Definitions, RelaysByAccount } from './definitions.ts';
import type { DeliveryLog } from './delivery-log.ts';
import { unsendable, WAITING, type GivenUp } from './delivery.ts';
import type { FirstAttempts, NewDelivery } from './first-attempts.ts';
import type { RelayLimits } from './limits.ts';
import type { RelayMetrics } from './metrics.ts';
import { readRows, type RelayRow } from './read-rows.ts';
import { CompletionOrder } from './completion-order.ts';
import type { RelayStore } from './store.ts';
import { writeChunk } from './write-chunk.ts';

export interface PartitionTaskDeps {
  store: Pick<RelayStore, 'position' | 'complete'>;
  definitions: Pick<Definitions, 'asOf'>;
  firstAttempts: FirstAttempts;
  deliveryLog: Pick<DeliveryLog, 'refresh' | 'ofStream'>;
  metrics: RelayMetrics;
  limits: RelayLimits;
  log: Log;
  partition: number;
  /** Aborts when the partition is revoked or the process ends. */
  signal: AbortSignal;
}

/**
 * Processes one partition of events.normalised: offers each matching delivery to its endpoint, and
 * completes the deliveries in the order of the log. An offset is committed once every delivery
 * before it is delivered, in the queue or dead; a slow endpoint does not keep later events waiting.
 * Skips positions that are completed already. While PostgreSQL is unavailable, the partition waits.
 */
export async function relayPartitionTask(deps: PartitionTaskDeps): Promise<PartitionTask> {
  const { store, definitions, firstAttempts, deliveryLog, metrics, limits } = deps;
  const { log, partition, signal } = deps;
  const read = { log, signal, code: 'postgres_unreachable' };
  /** The last stored position, and that of the newest event in a chunk. */
  let written = await retryUntilAborted(
    { ...read, what: 'reading the position of a partition' },
    () => store.position(partition),
  );
  let to: PartitionPosition = written;
  let chunk: NewDelivery[] = [];
  let characters = 0;
  let later: LaterCommits | undefined;
  let evidenceStored = (): Promise<void> => Promise.resolve();
  const completions = new CompletionOrder(limits, (error) => later?.failed(error));

  const offer = async (): Promise<void> => {
    if (chunk.length === 0) return;
    await evidenceStored();
    await completions.untilRoom();
    const [deliveries, size, end] = [chunk, characters, to];
    [chunk, characters] = [[], 0];
    metrics.matched(deliveries.length);
    const started = firstAttempts.start(deliveries);
    completions.add({ deliveries: deliveries.length, characters: size }, () =>
      firstAttempts.complete(started, async (found) => {
        await retryUntilAborted({ ...read, what: 'reading the sizes of the relay queues' }, () =>
          deliveryLog.refresh(),
        );
        const results = found.map((one) => deliveryLog.ofStream(one));
        const { leaseInFlight: lease, chunkCharacters } = limits;
        const completion = { partition, from: written, to: end, results, lease };
        const isOversized = size > chunkCharacters;
        const rows = await writeChunk({ store, metrics, log, signal }, completion, { isOversized });
        written = end;
        return rows;
      }),
    );
  };

  const add = async (row: RelayRow, relays: RelaysByAccount): Promise<void> => {
    const next = { epoch: row._epoch, offset: row._offset, index: row._index };
    if (comparePartitionPositions(next, to) <= 0) return;
    const matching = relays.get(row.account_id)?.filter((relay) => relay.matches(row)) ?? [];
    if (matching.length === 0) return;
    const { payload, decided } = payloadOf(row);
    if (decided) {
      const { account_id, message_id } = row;
      metrics.givenUp('unsendable', matching.length);
      log.error(
        { code: 'relay_delivery_unsendable', account_id, message_id, error: decided.error },
        'an event cannot be relayed; its deliveries are dead',
      );
    }
    const size = payload.length * matching.length;
    const isOversized = size > limits.chunkCharacters;
    if (isOversized) await offer();
    const common = {
      accountId: row.account_id,
      position: { ...next, partition: row._partition },
      messageId: row.message_id,
      event: row.event,
      payload,
      attempts: 0,
    };
    for (const { id } of matching)
      chunk.push({
        delivery: { relayId: id, ...common },
        decided: isOversized ? WAITING : decided,
      });
    characters += size;
    to = next;
    if (chunk.length >= limits.chunkDeliveries || characters >= limits.chunkCharacters)
      await offer();
  };

  const skip = {
    log,
    warning: 'a record cannot be decoded and is not delivered; see events.dead',
    onUnreadable: () => metrics.unreadable(),
  };
  return {
    from: undefined,
    commitsLater: (commits) => (later = commits),
    beforeEffects: (stored) => (evidenceStored = stored),
    async process(messages) {
      const last = messages.at(-1);
      if (!last) return undefined;
      const relays = await retryUntilAborted({ ...read, what: 'reading the relays' }, () =>
        definitions.asOf(last.timestamp),
      );
      for (const message of relays.size === 0 ? [] : messages)
        for (const row of readOrSkip(message, readRows, skip)) await add(row, relays);
      await offer();
      const next = last.offset + 1;
      if (later) {
        completions.afterAll(() => later?.commit(next));
        return undefined;
      }
      await completions.untilIdle();
      return next;
    },
    drain: () => completions.untilIdle(),
    release: () => Promise.resolve(),
  };
}

/** The body of an event; one that cannot be built gives up its deliveries, and nothing else. */
function payloadOf(row: RelayRow): { payload: string; decided: GivenUp | undefined } {
  try {
    return { payload: relayPayload(row), decided: undefined };
  } catch (error) {
    return { payload: '', decided: unsendable(error) };
  }
}
