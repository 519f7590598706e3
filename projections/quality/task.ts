import type { ClickHouseClient } from '@clickhouse/client';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { batchTask, readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { ingestOutcomeCodec } from '../../schemas/codec.ts';
import { balanceRows, qualityRows } from './rows.ts';

/**
 * Writes the counts of ingest outcomes, and the balances of SDKs. A batch that is written twice
 * replaces itself. Retries while ClickHouse is unavailable.
 */
export function qualityTask(options: {
  clickhouse: ClickHouseClient;
  log: Log;
  signal: AbortSignal;
}): PartitionTask {
  const { clickhouse, log, signal } = options;
  const read = ({ value }: ConsumedMessage) =>
    value === null ? [] : [ingestOutcomeCodec.decode(value)];
  const warning = 'an outcome cannot be decoded and is not counted';
  const insert = async (table: string, values: object[]) => {
    if (values.length > 0)
      await retryUntilAborted(
        { log, signal, code: 'clickhouse_unreachable', what: 'writing ingest quality' },
        () =>
          clickhouse.insert({
            table,
            values,
            format: 'JSONEachRow',
            clickhouse_settings: { async_insert: 0 },
          }),
      );
  };
  return batchTask(async (messages) => {
    const outcomes = messages.flatMap((message) => readOrSkip(message, read, { log, warning }));
    await insert('ingest_quality', outcomes.flatMap(qualityRows));
    await insert('sdk_balances', outcomes.flatMap(balanceRows));
  });
}
