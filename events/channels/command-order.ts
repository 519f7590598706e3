import type { ChannelCommand } from '../../schemas/records.ts';

/** When and where a command was accepted: commands about one thing are ordered by it. */
export type CommandOrder = Pick<ChannelCommand, 'received_at' | 'gateway' | 'sequence'>;

/** True when `a` was accepted after `b`. */
export function isLater(a: CommandOrder, b: CommandOrder): boolean {
  if (a.received_at !== b.received_at) return a.received_at > b.received_at;
  if (a.gateway !== b.gateway) return a.gateway > b.gateway;
  return a.sequence > b.sequence;
}
