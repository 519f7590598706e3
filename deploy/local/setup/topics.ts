import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { kafkaSettings, topicSettings } from '../../../platform/settings-common.ts';
import { defineSettings, parseSettings } from '../../../platform/settings.ts';
import { ensureTopics, plannedTopics } from '../../topics.ts';

const settings = parseSettings(defineSettings({ ...kafkaSettings, ...topicSettings }), process.env);
const created = await withKafkaAdmin(settings, (admin) =>
  ensureTopics({
    admin,
    plans: plannedTopics(settings),
    replication: settings.KAFKA_REPLICATION || 3,
    minIsr: settings.KAFKA_MIN_ISR || 2,
  }),
);
console.log(created.length === 0 ? 'all topics are there' : `created ${created.join(', ')}`);
