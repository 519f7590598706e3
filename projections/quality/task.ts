import type { ClickHouseClient } from '@clickhouse/client';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { ingestOutcomeCodec, UnreadableRecord } from '../../schemas/codec.ts';
import { qualityRows } from './rows.ts';

/**
 * Writes the counts of ingest outcomes. A batch that is written twice replaces itself. Retries while
 * ClickHouse is unavailable.
 */
export function qualityTask(options: {
  clickhouse: ClickHouseClient;
  log: Log;
  signal: AbortSignal;
}): PartitionTask {
  const { clickhouse, log, signal } = options;
  return {
    from: undefined,
    async process(messages) {
      const values = messages.flatMap(({ value, partition, offset }) => {
        if (value === null) return [];
        try {
          return qualityRows(ingestOutcomeCodec.decode(value));
        } catch (error) {
          if (!(error instanceof UnreadableRecord)) throw error;
          log.warn(
            { partition, offset, code: error.code },
            'an outcome cannot be decoded and is not counted',
          );
          return [];
        }
      });
      if (values.length > 0) {
        await retryUntilAborted(
          { log, signal, code: 'clickhouse_unreachable', what: 'writing ingest quality' },
          () =>
            clickhouse.insert({
              table: 'ingest_quality',
              values,
              format: 'JSONEachRow',
              clickhouse_settings: { async_insert: 0 },
            }),
        );
      }
      return (messages.at(-1)?.offset ?? -1) + 1;
    },
    release: () => Promise.resolve(),
  };
}
