import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import { epochAt, type TopicEpochs } from '../../../platform/log/epochs.ts';
import type { Log } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { offsetAfter } from '../../../platform/kafka/batch-task.ts';
import { chainConsents } from '../../../projections/addresses/chain-consents.ts';
import { firstUnapplied, readPosition } from '../../../projections/addresses/position.ts';
import { readCommands } from '../../../projections/addresses/read-commands.ts';
import { Registers } from '../../../projections/addresses/registers.ts';
import { suppressSoftBounces } from '../../../projections/addresses/suppress-soft-bounces.ts';
import { LIVE_SCHEMA, writeBatch } from '../../../projections/addresses/write-batch.ts';
import { SHADOW_SCHEMA } from './shadow-schema.ts';

export interface FillRegisters {
  database: Pick<Database, 'query'>;
  log: Log;
  epochs: TopicEpochs;
  /** The partitions of channel.commands; `low`: the first offset that is retained. */
  partitions: readonly { partition: number; low: number }[];
  /** Records [from, to) of a partition, without what was erased. */
  read: (
    partition: number,
    range: { from: number; to: number },
  ) => AsyncIterable<readonly ConsumedMessage[]>;
  progress: (records: number) => void;
}

/**
 * Applies to the shadow tables what the live ones have applied and they have not. Called again, it
 * continues at their positions.
 */
export async function fillRegisters(options: FillRegisters): Promise<void> {
  const { database, log, epochs, partitions, progress } = options;
  for (const { partition, low } of partitions) {
    const starts = epochs.of(partition);
    const live = await readPosition(database, partition, LIVE_SCHEMA);
    let position = await readPosition(database, partition, SHADOW_SCHEMA);
    const first = Math.max(low, firstUnapplied(starts, position));
    const range = { from: first, to: firstUnapplied(starts, live) };
    if (range.from >= range.to) continue;
    for await (const messages of options.read(partition, range)) {
      if (messages.length === 0) continue;
      const registers = new Registers(readCommands(messages, { epochs: starts, log }));
      const next = offsetAfter(messages);
      const to = { epoch: epochAt(starts, next - 1), next };
      const from = position ?? { epoch: 0, next: 0 };
      const consents = await chainConsents(database, registers.consentChanges, SHADOW_SCHEMA);
      await writeBatch(database, { partition, from, to, registers, consents }, SHADOW_SCHEMA);
      await suppressSoftBounces(database, registers.softBounces.values(), SHADOW_SCHEMA);
      position = to;
      progress(messages.length);
    }
  }
}
