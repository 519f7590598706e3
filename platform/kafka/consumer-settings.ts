import * as setting from '../setting-kinds.ts';
import { defineSettings } from '../settings.ts';

export const consumerSettings = defineSettings({
  KAFKA_INSTANCE_ID: setting.text({
    default: '',
    doc: 'Stable name of this process within its consumer group (group.instance.id), different for each process: killed and started again within 6 s it has its partitions back at once. Empty: a killed process holds its partitions until its session of 6 s ends. `./ravand up` gives each part its own.',
  }),
});
