import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';
import { CHANNEL_COMMAND_KINDS, type ChannelCommand } from '../../schemas/records.ts';

export interface AddressMetrics {
  applied(commands: readonly Pick<ChannelCommand, 'kind'>[]): void;
  unreadable(): void;
}

export function addressMetrics(registry: Registry): AddressMetrics {
  const metrics = metricsOf(registry);
  const applied = metrics.counter(
    'ravand_channel_commands_total',
    'Commands of channels that were applied to the addresses, by kind.',
    'kind',
  );
  for (const kind of CHANNEL_COMMAND_KINDS) applied.inc({ kind }, 0);
  const unreadable = metrics.counter(
    'ravand_channel_commands_unreadable_total',
    'Records of channel.commands that cannot be decoded; they change nothing.',
  );
  return {
    applied(commands) {
      for (const { kind } of commands) applied.inc({ kind });
    },
    unreadable: () => unreadable.inc(),
  };
}
