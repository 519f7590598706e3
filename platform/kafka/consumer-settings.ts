import * as setting from '../setting-kinds.ts';
import { defineSettings } from '../settings.ts';

export const consumerSettings = defineSettings({
  KAFKA_INSTANCE_ID: setting.text({
    default: '',
    doc: 'Static membership name of this process in its consumer group (group.instance.id), unique per process: a process restarted within 6 s gets its partitions back at once. Empty: a killed process holds its partitions until its session of 6 s times out. `./ravand up` sets one per service.',
  }),
});
