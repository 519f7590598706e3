import type { FreeChunks } from '../store/lease-chunks.ts';

/** A channel of an account, as this process sends it. */
export interface ChannelLoad {
  accountId: number;
  channel: string;
  /** Chunks that are leased. */
  chunks: number;
  /** closed: as usual; half_open: one message tries whether it works; open: nothing is sent. */
  phase: 'closed' | 'half_open' | 'open';
  /** Its limits and its answers leave room for more. */
  hasRoom: boolean;
}

export interface LeaseLimits {
  /** Chunks that this process has leased at most. */
  slots: number;
}

/** Of a channel of which this process knows nothing yet. */
export const FIRST_CHUNKS = 1;
const MAX_OF_CHANNEL = 8;
/** Above this share of the slots, channels take turns. */
const PRESSURE = 0.8;

export interface LeasePlan {
  free: FreeChunks[];
  max: number;
}

/**
 * How many chunks each channel may lease now. A channel gets one more while that would send more;
 * an account gets at most half of the slots; a sender that cannot send gets none.
 */
export function planLeases(channels: readonly ChannelLoad[], { slots }: LeaseLimits): LeasePlan {
  const held = new Map<number, number>();
  let used = 0;
  for (const { accountId, chunks } of channels) {
    held.set(accountId, (held.get(accountId) ?? 0) + chunks);
    used += chunks;
  }
  const free = channels.map((load): FreeChunks => {
    const { accountId, channel, chunks } = load;
    const leftToAccount = Math.max(1, Math.floor(slots / 2)) - (held.get(accountId) ?? 0);
    return {
      ...{ accountId, channel, held: chunks },
      chunks: Math.max(0, Math.min(wantedOf(load) - chunks, leftToAccount)),
    };
  });
  return { free, max: Math.max(0, slots - used) };
}

function wantedOf({ chunks, phase, hasRoom }: ChannelLoad): number {
  if (phase === 'open') return 0;
  if (phase === 'half_open') return 1;
  return Math.min(MAX_OF_CHANNEL, hasRoom ? chunks + 1 : 1);
}

/** So many slots are used that a chunk is given back after its turn: others may be waiting. */
export function isPressed(used: number, { slots }: LeaseLimits): boolean {
  return used >= slots * PRESSURE;
}
