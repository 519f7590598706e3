import { DEFAULT_PREFIX } from '../../platform/claims/claim-keys.ts';
import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  consumerProcessSettings,
  deadLetterSettings,
  dedupeSettings,
  postgresSettings,
  redisSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

/** Topics and groups of the normaliser; a bench has its own. */
export interface Names {
  raw: string;
  normalised: string;
  /** Decisions other than a published row: reconciliation counts them. */
  verdicts: string;
  dead: string;
  group: string;
  /** The group that stores `normalised` in ClickHouse: the backfill of the claims waits for it. */
  sinkGroup: string;
  /** Prefix of the keys of claims. */
  claims: string;
}

export const NAMES: Names = {
  raw: TOPIC.raw,
  normalised: TOPIC.normalised,
  verdicts: TOPIC.verdicts,
  dead: TOPIC.dead,
  group: GROUP.normaliser,
  sinkGroup: GROUP.events,
  claims: DEFAULT_PREFIX,
};

export const settings = defineSettings({
  ...consumerProcessSettings,
  ...redisSettings,
  ...postgresSettings,
  ...clickhouseSettings,
  ...dedupeSettings,
  ...deadLetterSettings,
  DEDUPE_PACK_AFTER: setting.duration({
    default: 900_000,
    doc: 'Age from which the claims of stored events are packed, in a third of the memory (docs/deduplication.md); 0: none is packed.',
  }),
  NORMALISER_BATCH_RECORDS: setting.integer({
    default: 4000,
    min: 1,
    max: 100_000,
    doc: 'Limit of raw records in one batch of a partition.',
  }),
  NORMALISER_BATCH_BYTES: setting.bytes({
    default: 4 * 1024 * 1024,
    min: 1024,
    doc: 'Limit of bytes of raw records in one batch of a partition.',
  }),
  NORMALISER_LINGER: setting.duration({
    default: 5,
    doc: 'How long the normaliser waits to fill a batch.',
  }),
  NORMALISER_INTERVAL: setting.duration({
    default: 100,
    doc: 'Least time between two batches of one partition: makes batches large under load. Records wait a quarter of it in Kafka for others. A process with more than 4 partitions begins as many batches as one with 4: the time grows with them, up to 400 ms.',
  }),
  NORMALISER_PUBLISH_TIMEOUT: setting.duration({
    default: 120_000,
    min: 1000,
    doc: 'Without an acknowledgement of Kafka for this time, the normaliser discards what is in flight and resumes from its committed offsets.',
  }),
});

export type Config = SettingsOf<typeof settings>;
