import { topicEnds, withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { createLog } from '../../../platform/log.ts';
import { readLayout, recordedLayout } from '../../../platform/log/layout.ts';
import { COMMAND_CONNECT_MS, connectPostgres } from '../../../platform/postgres/pool.ts';
import {
  kafkaSettings,
  postgresSettings,
  topicSettings,
} from '../../../platform/settings-common.ts';
import { defineSettings, parseSettings } from '../../../platform/settings.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { ensureRetention } from '../../topic-retention.ts';
import { ensureTopics, plannedTopics } from '../../topics.ts';

const settings = parseSettings(
  defineSettings({ ...kafkaSettings, ...postgresSettings, ...topicSettings }),
  process.env,
);
const log = createLog({ part: 'topics', level: 'info' });
const database = connectPostgres({
  url: settings.DATABASE_URL,
  log,
  name: 'ravand-topics',
  max: 1,
  connectTimeout: COMMAND_CONNECT_MS,
});
try {
  const layout = await readLayout(database);
  const EVENTS_PARTITIONS = layout?.created ?? settings.EVENTS_PARTITIONS;
  const created = await withKafkaAdmin(settings, async (admin) => {
    const plans = plannedTopics({ ...settings, EVENTS_PARTITIONS }).map((plan) => ({
      ...plan,
      topic: layout?.topics[plan.topic] ?? plan.topic,
    }));
    for (const sentence of await ensureRetention(admin, plans)) console.log(sentence);
    const created = await ensureTopics({
      admin,
      plans,
      replication: settings.KAFKA_REPLICATION || 3,
      minIsr: settings.KAFKA_MIN_ISR || 2,
    });
    if (!layout) {
      const counts = new Set<number>();
      for (const topic of [TOPIC.raw, TOPIC.normalised, TOPIC.verdicts])
        counts.add((await topicEnds(admin, topic)).length);
      const [partitions = 0, ...others] = counts;
      if (others.length === 0) await recordedLayout(database, { partitions });
    }
    return created;
  });
  console.log(created.length === 0 ? 'all topics are there' : `created ${created.join(', ')}`);
} finally {
  await database.end();
}
