import type { ClickHouseClient } from '@clickhouse/client';
import type { Admin } from 'kafkajs';
import { keptFrom, type Retentions } from '../../events/retention.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { qualityRows } from './rows.ts';
import { decodeIfReadable, ingestOutcomeCodec } from '../../schemas/codec.ts';
import { PROJECTIONS } from '../../schemas/topology.ts';

interface QualityOptions {
  settings: KafkaSettings;
  admin: Admin;
  client: ClickHouseClient;
  table: string;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
  /** Since the call before: records that were read, and rows that were written. */
  progress: (counts: { records: number; rows: number }) => void;
}

/**
 * Fills a table like `ingest_quality` from ingest.outcomes, up to the commits of quality-sink.
 * Idempotent: a row written again replaces itself.
 */
export async function rebuildQuality(options: QualityOptions): Promise<void> {
  const { settings, admin, client, table, retentions, now, signal, progress } = options;
  const { topic, group } = PROJECTIONS.quality;
  const committed = await committedOffsets(admin, group, topic);
  for (const { partition, low } of await topicEnds(admin, topic)) {
    const range = { topic, partition, from: low, to: committed.get(partition) ?? low };
    for await (const messages of readRange({
      settings,
      clientId: 'ravand-rebuild',
      range,
      signal,
    })) {
      const values = messages.flatMap(({ value }) => {
        const outcome = decodeIfReadable(ingestOutcomeCodec, value);
        return outcome && outcome.received_at >= keptFrom(retentions, outcome.account_id, now)
          ? qualityRows(outcome)
          : [];
      });
      if (values.length > 0)
        await client.insert({
          table,
          values,
          format: 'JSONEachRow',
          clickhouse_settings: { async_insert: 0 },
        });
      progress({ records: messages.length, rows: values.length });
    }
  }
}
