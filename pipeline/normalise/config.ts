import { DEFAULT_PREFIX } from '../../platform/claims/connect.ts';
import { consumerSettings } from '../../platform/kafka/consumer-settings.ts';
import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  deadLetterSettings,
  dedupeSettings,
  kafkaSettings,
  processSettings,
  redisSettings,
} from '../../platform/settings-common.ts';
import { DEAD_LETTER_TOPIC } from '../dead-letters/dead-letter.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

/** Topics and groups that the normaliser reads, writes and looks at; a bench has its own. */
export interface Names {
  raw: string;
  normalised: string;
  /** What was decided besides publishing a row: the books are made from it. */
  verdicts: string;
  dead: string;
  group: string;
  /** The group that stores `normalised` in ClickHouse: the refill of the claims waits for it. */
  sinkGroup: string;
  /** What the keys of the claims begin with. */
  claims: string;
}

export const NAMES: Names = {
  raw: TOPIC.raw,
  normalised: TOPIC.normalised,
  verdicts: TOPIC.verdicts,
  dead: DEAD_LETTER_TOPIC,
  group: GROUP.normaliser,
  sinkGroup: GROUP.events,
  claims: DEFAULT_PREFIX,
};

export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...consumerSettings,
  ...redisSettings,
  ...clickhouseSettings,
  ...dedupeSettings,
  ...deadLetterSettings,
  NORMALISER_BATCH_RECORDS: setting.integer({
    default: 4000,
    min: 1,
    max: 100_000,
    doc: 'Raw records that the normaliser takes at once from a partition.',
  }),
  NORMALISER_BATCH_BYTES: setting.bytes({
    default: 4 * 1024 * 1024,
    min: 1024,
    doc: 'Bytes of raw records that it takes at once.',
  }),
  NORMALISER_LINGER: setting.duration({
    default: 5,
    doc: 'How long raw records wait for company before they are taken.',
  }),
  NORMALISER_INTERVAL: setting.duration({
    default: 25,
    doc: 'Least time between two takes of raw records, for each partition: under load it makes batches large.',
  }),
  NORMALISER_PUBLISH_TIMEOUT: setting.duration({
    default: 120_000,
    min: 1000,
    doc: 'After this long without an acknowledgement of Kafka the normaliser lets go of everything and starts over from what it committed.',
  }),
});

export type Config = SettingsOf<typeof settings>;
