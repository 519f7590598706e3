import type { ChannelCommand } from '../../../schemas/records.ts';
import type { PlacedCommand } from '../registers.ts';

/** Commands as they are read one after the other, from an offset on. */
export function placed(
  commands: readonly ChannelCommand[],
  { partition, from, epoch = 0 }: { partition: number; from: number; epoch?: number },
): PlacedCommand[] {
  return commands.map((command, at) => ({
    ...command,
    ...{ log_epoch: epoch, log_partition: partition, log_offset: from + at },
  }));
}
