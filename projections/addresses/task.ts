import type { ClickHouseClient } from '@clickhouse/client';
import { markInboxRead } from '../../platform/inbox/inbox-entries.ts';
import { offsetAfter } from '../../platform/kafka/batch-task.ts';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { epochAt, readEpochs } from '../../platform/log/epochs.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { countCommands } from './books.ts';
import { chainConsents } from './chain-consents.ts';
import { touchedByLost } from './lost-records.ts';
import type { AddressMetrics } from './metrics.ts';
import { firstUnapplied, readPosition } from './position.ts';
import { publishStates, publishTouched } from './publish-states.ts';
import { readCommands } from './read-commands.ts';
import { Registers } from './registers.ts';
import { suppressSoftBounces } from './suppress-soft-bounces.ts';
import { PositionMoved, writeBatch } from './write-batch.ts';

export interface AddressDeps {
  database: Pick<Database, 'query'>;
  clickhouse: Pick<ClickHouseClient, 'insert'>;
  /** CLICKHOUSE_CLUSTER */
  cluster: string;
  log: Log;
  /** Aborts when the partition is revoked. */
  signal: AbortSignal;
  metrics: AddressMetrics;
}

/**
 * Applies the commands of one partition to PostgreSQL, each once, and then writes the states of
 * what they touched into ClickHouse. Commits when both are done; what a crash leaves between the
 * two is written again, as it then is. The position in PostgreSQL decides what was applied, also
 * after PostgreSQL was restored to an earlier time, or the log went back. Retries while either
 * store is unavailable.
 * @param committed offset in Kafka; undefined: none
 */
export async function addressTask(
  deps: AddressDeps,
  { partition, committed }: { partition: number; committed: number | undefined },
): Promise<PartitionTask> {
  const { database, log, signal, metrics } = deps;
  const isFinal = (error: unknown) => error instanceof PositionMoved;
  const retrying = <T>(what: string, operation: () => Promise<T>): Promise<T> =>
    retryUntilAborted({ log, signal, code: 'addresses_waiting', what, isFinal }, operation);
  const storedPosition = () =>
    retrying('reading the position of addresses', () => readPosition(database, partition));
  const epochs = await retrying('reading the epochs of the log', () =>
    readEpochs(database, TOPIC.channelCommands),
  );
  const starts = epochs.of(partition);
  const stored = await storedPosition();
  let next = firstUnapplied(starts, stored);
  let position = stored ?? { epoch: 0, next: 0 };
  if (next < position.next) {
    const lost = { partition, from: next, to: position };
    await retrying('writing addresses that lost records changed', async () =>
      publishTouched(deps, await touchedByLost(database, lost)),
    );
  }
  return {
    from: Math.min(committed ?? 0, next),
    async process(messages) {
      const all = readCommands(messages, {
        epochs: starts,
        log,
        onUnreadable: () => metrics.unreadable(),
      });
      const end = offsetAfter(messages);
      if (end > next) {
        const unapplied = all.filter(({ log_offset }) => log_offset >= next);
        const fresh = new Registers(unapplied);
        const to = { epoch: epochAt(starts, end - 1), next: end };
        // A statement whose answer was lost may have been executed.
        const write = retrying('writing addresses', async () => {
          const consents = await chainConsents(database, fresh.consentChanges);
          const books = await countCommands(database, { partition, commands: unapplied });
          const batch = { partition, from: position, to, registers: fresh, consents, books };
          await writeBatch(database, batch);
        });
        await write.catch(async (error: unknown) => {
          const now = isFinal(error) ? await storedPosition() : undefined;
          if (now?.epoch !== to.epoch || now.next !== to.next) throw error;
        });
        position = to;
        next = end;
        metrics.applied(unapplied);
      }
      const touched = new Registers(all);
      await retrying('writing addresses', async () => {
        await suppressSoftBounces(database, touched.softBounces.values());
        await markInboxRead(database, touched.entriesRead());
        await publishStates(deps, touched);
      });
      return end;
    },
    release: () => Promise.resolve(),
  };
}
