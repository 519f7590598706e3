/**
 * A member of a consumer group, for a test that kills it: `node member-process.ts TOPIC GROUP
 * INSTANCE_ID`. Writes the partition of each record that it processes, one a line.
 */
import { startPartitionConsumer } from '../../../platform/kafka/consumer.ts';
import { createLog } from '../../../platform/log.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';

const [topic = '', groupId = '', instanceId = ''] = process.argv.slice(2);
const log = createLog({ part: 'member', level: 'error' });
void startPartitionConsumer({
  ...{ settings: parseSettings(kafkaSettings, process.env), log, groupId, topic, instanceId },
  clientId: 'member',
  batch: { records: 1000, bytes: 1_000_000, linger: 5, interval: 25 },
  crash(error) {
    log.error({ err: error }, 'the member failed');
    process.exit(1);
  },
  assigned: (partition) =>
    Promise.resolve({
      from: undefined,
      process(messages) {
        process.stdout.write(`${partition}\n`.repeat(messages.length));
        return Promise.resolve((messages.at(-1)?.offset ?? 0) + 1);
      },
      release: () => Promise.resolve(),
    }),
});
