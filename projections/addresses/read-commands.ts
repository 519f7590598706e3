import { readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { epochAt, type EpochStart } from '../../platform/log/epochs.ts';
import type { Log } from '../../platform/log.ts';
import { channelCommandCodec, newerRelease } from '../../schemas/codec.ts';
import { CHANNEL_COMMAND_KINDS } from '../../schemas/records.ts';
import type { PlacedCommand } from './registers.ts';

const KINDS: ReadonlySet<string> = new Set(CHANNEL_COMMAND_KINDS);

interface ReadCommands {
  /** Of the partition. */
  epochs: readonly EpochStart[];
  log: Log;
  onUnreadable?: () => void;
}

/**
 * The commands of consecutive records, with their places. A damaged record changes nothing. Throws
 * UnreadableRecord for a schema or a kind of a newer release: the partition waits.
 */
export function readCommands(
  messages: readonly ConsumedMessage[],
  { epochs, log, onUnreadable = () => undefined }: ReadCommands,
): PlacedCommand[] {
  const warning = 'a command of a channel cannot be decoded and changes nothing';
  return messages.flatMap((message) =>
    readOrSkip(
      message,
      ({ value, partition, offset }) => {
        const command = channelCommandCodec.decode(value ?? Buffer.alloc(0));
        if (!KINDS.has(command.kind)) throw newerRelease(`the command ${command.kind}`);
        const place = { log_partition: partition, log_offset: offset };
        return [{ ...command, ...place, log_epoch: epochAt(epochs, offset) }];
      },
      { log, warning, onUnreadable },
    ),
  );
}
