import type { Channel } from '../../../events/channels/channel-change.ts';
import type { OpenSender } from '../../../messaging/senders/senders.ts';
import type { Log } from '../../../platform/log.ts';
import type { RecentSet } from '../../../platform/recent-set.ts';
import { WakeSignal } from '../../../platform/wake-signal.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import { identityOf, type ChannelGate, type SenderGates } from '../senders/sender-gates.ts';
import type { ChunkWrite, LeasedChunk, WriteAnswer } from '../store/chunk-row.ts';
import { sendChunk, type ChunkWorkerDeps } from '../worker/chunk-worker.ts';
import type { ChunkPorts, OpenChunkPorts } from '../worker/ports.ts';
import type { PreparedBytes } from '../worker/prepared-bytes.ts';

export interface SendingDeps {
  gates: SenderGates;
  openPorts: OpenChunkPorts;
  write: (write: ChunkWrite) => Promise<WriteAnswer>;
  prepared: PreparedBytes;
  metrics: Pick<DispatcherMetrics, 'answered' | 'finished' | 'unprepared'>;
  log: Log;
  /** Runs whose recipients could not be looked up of late. */
  reported: RecentSet;
  load: {
    /** Chunks that this process has leased. */
    chunks: () => number;
    /** Others may be waiting for their turn. */
    isPressed: () => boolean;
  };
  /** ms since the epoch */
  now: () => number;
  random: () => number;
  renewAfterMs: number;
  /** Aborted: nothing more is opened. */
  ending: AbortSignal;
  /** Aborted: open calls end now. */
  stopping: AbortSignal;
}

/** A chunk is given back after this time when others may be waiting, ms. */
const TURN_MS = 3000;
/** Messages are prepared for so many ms of sending: those that wait longer are prepared again. */
const AHEAD_MS = 4000;
const MAX_AHEAD = 250;

/**
 * Sends a leased chunk with the sender that its channel has now. Rejects when the sender or the
 * template cannot be read; then the lease runs out.
 */
export async function sendLeased(
  leased: LeasedChunk,
  deps: SendingDeps,
): Promise<'done' | 'released' | 'lost'> {
  const { gates, now, random, renewAfterMs, ending, load } = deps;
  const channel = gates.get(leased.accountId, leased.channel as Channel);
  const sender = await gates.refresh(channel);
  const ports = await openPorts(leased, { ...deps, channel, sender });
  const wake = new WakeSignal();
  const identity = sender ? identityOf(sender) : '';
  const beganAt = now();
  const state = (): ReturnType<ChunkWorkerDeps['state']> => {
    if (ending.aborted) return 'ending';
    // Without a sender nothing is called.
    if (!sender) return channel.gate.sender ? 'ending' : 'sending';
    if (channel.gate.sender?.identity !== identity) return 'ending';
    if (!channel.gate.canSend) return 'ending';
    return load.isPressed() && now() - beganAt > TURN_MS ? 'ending' : 'sending';
  };
  const stopListening = channel.gate.onChange(() => wake.notify());
  const onEnding = () => wake.notify();
  ending.addEventListener('abort', onEnding);
  const never = new AbortController().signal;
  try {
    return await sendChunk(leased, {
      ...ports,
      write: writing(deps, leased),
      sender: {
        ...{ identity, provider: sender?.provider.name ?? '' },
        isIdempotent: sender?.provider.isIdempotent ?? false,
        ahead: () => aheadOf(leased, { ...deps, channel, sender }),
      },
      permits: {
        take: (max) => channel.gate.take(max),
        give: (count) => channel.gate.give(count),
      },
      wake: { notify: () => wake.notify(), wait: (ms) => wake.wait(Math.max(0, ms), never) },
      ...{ now, random, state, renewAfterMs },
    });
  } finally {
    stopListening();
    ending.removeEventListener('abort', onEnding);
  }
}

type Opening = SendingDeps & { channel: ChannelGate; sender: OpenSender | undefined };

async function openPorts(leased: LeasedChunk, deps: Opening): Promise<ChunkPorts> {
  const { channel, sender, metrics, prepared, log, reported, stopping } = deps;
  const ports = await deps.openPorts({
    ...{ leased, sender, signal: stopping },
    answered: (answer, ms) => {
      channel.gate.answered(answer, ms);
      metrics.answered({ channel: channel.channel, answer: answer.kind, ms });
    },
  });
  return {
    ...ports,
    prepare: async (recipients, of) => {
      try {
        const decisions = await ports.prepare(recipients, of);
        prepared.seen(leased.runId, decisions);
        return decisions;
      } catch (error) {
        const { accountId: account, campaignId: campaign, runId: run } = leased;
        metrics.unprepared();
        if (!reported.has(`${run}`, deps.now()))
          log.warn(
            { err: error, code: 'dispatcher_prepare', account, campaign, run },
            'recipients of a campaign could not be looked up; they are tried again',
          );
        reported.add(`${run}`, deps.now());
        throw error;
      }
    },
  };
}

function writing({ write, metrics }: SendingDeps, { channel }: LeasedChunk) {
  return async (one: ChunkWrite): Promise<WriteAnswer> => {
    const answer = await write(one);
    if (answer.kind === 'written') metrics.finished(channel, one.counts);
    return answer;
  };
}

/** Messages that a chunk may hold: no more than are sent soon, nor than there is memory for. */
function aheadOf({ runId }: LeasedChunk, { channel, sender, prepared, load }: Opening): number {
  // Nobody is rendered for.
  if (!sender) return MAX_AHEAD;
  const soon = Math.ceil(channel.gate.sendsWithin(AHEAD_MS) / Math.max(1, channel.chunks));
  return Math.min(MAX_AHEAD, Math.max(1, soon), prepared.share(runId, load.chunks()));
}
