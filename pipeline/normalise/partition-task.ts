import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { decodeRecords, type DecodeResult } from '../../events/raw/decode-record.ts';
import type { LayoutMarker } from '../../events/raw/layout-marker.ts';
import {
  claimsToResolve,
  type ClaimOfEvent,
  type EpochOf,
} from '../../events/raw/record-claims.ts';
import { delay } from '../../platform/backoff.ts';
import type { BreakerVerdict } from '../../platform/dead-letter-breaker.ts';
import type {
  ConsumedMessage,
  LaterCommits,
  PartitionTask,
} from '../../platform/kafka/consumer-types.ts';
import type { PartitionPosition } from '../../schemas/log-position.ts';
import type { ClaimsGate } from './claims-gate.ts';
import type { Names } from './config.ts';
import {
  normaliseChunk,
  splitIntoChunks,
  type Chunk,
  type NormalisedChunk,
} from './normalise-chunk.ts';
import {
  claimsHere,
  forwards,
  misplacedIn,
  splitAtMarks,
  type Misplaced,
  type Placement,
} from './placement.ts';
import type { Publisher } from './publisher.ts';
import { recordsOf } from './records-of.ts';
import { resolveFrom, type Resolved, type ResolvingClaims } from './resolve-from.ts';
import type { RowTools } from './row-tools.ts';
import type { Semaphore } from './semaphore.ts';

/** Shared by all partitions of a process. */
export interface NormaliserDeps extends RowTools {
  claims: ResolvingClaims;
  /** The last position of events.normalised in a partition; rejects when the signal aborts. */
  lastPublished: (partition: number, signal: AbortSignal) => Promise<PartitionPosition>;
  gate: ClaimsGate;
  semaphore: Semaphore;
  publisher: Publisher;
  /** Topics to publish to. */
  names: Pick<Names, 'raw' | 'normalised' | 'verdicts' | 'dead'>;
  deadLetterPartitions: number;
  /** Whether a chunk may be published; see platform/dead-letter-breaker.ts. */
  judgeChunk: (chunk: NormalisedChunk) => BreakerVerdict;
  /** ms until a chunk that the breaker held back is retried. */
  retryAfter: number;
  now: () => number;
  /** Called when a chunk, with its verdicts, is acknowledged by Kafka. */
  published: (partition: number, chunk: NormalisedChunk) => void;
  /** Called with the share of dead events when the breaker opens, and with undefined on retry. */
  heldBack: (partition: number, share: number | undefined) => void;
  /** ms until a batch with a packed claim is retried when ClickHouse did not answer. */
  retryUnconfirmed: number;
  /** Called when a partition waits for ClickHouse, and with undefined on retry. */
  unconfirmed: (partition: number, error: Error | undefined) => void;
}

/** Events that are decided between two yields to the event loop, and published together. */
const CHUNK_EVENTS = 2000;

/**
 * `held-back`: the breaker holds back what begins at the offset `from`; the rest is published.
 * `unconfirmed`: nothing is published; the batch is to be resolved again.
 */
type Progress =
  | { readonly state: 'published' }
  | { readonly state: 'unconfirmed'; readonly error: Error }
  | { readonly state: 'held-back'; readonly from: number; readonly share: number };

export interface TaskOptions {
  partition: number;
  /** Next offset to read; undefined when nothing is committed. */
  committed: number | undefined;
  /** Epochs of events.raw; absent: epoch 0. */
  epochOf?: EpochOf;
  /** Absent: every event is where its person belongs. */
  placement?: Placement | undefined;
  deps: NormaliserDeps;
  /** Aborts when the partition is revoked: nothing more is published. */
  fenced: AbortSignal;
  /** Aborts when the process stops: records in flight are awaited, nothing else is. */
  stopping: AbortSignal;
  /** Called when the partition is released: nothing of it is in flight. */
  released: () => void;
}

/**
 * Normalises one partition of events.raw: decode → resolve claims → decide and normalise → build
 * row batches → publish → commit, which the consumer does with the returned offset.
 */
export class NormaliserTask implements PartitionTask {
  readonly from = undefined;
  readonly #partition: number;
  readonly #epochOf: EpochOf;
  readonly #placement: Placement | undefined;
  readonly #deps: NormaliserDeps;
  readonly #fenced: AbortSignal;
  readonly #stopping: AbortSignal;
  /** Ends every wait except the one for acknowledgements. */
  readonly #interrupted: AbortSignal;
  readonly #released: () => void;
  #processedUntil: number | undefined;
  #next: number | undefined;
  #commits: LaterCommits | undefined;
  /** What was in the log of results when the claims of this round were there. */
  #published: { round: number; last: PartitionPosition } | undefined;

  constructor(options: TaskOptions) {
    this.#partition = options.partition;
    this.#epochOf = options.epochOf ?? (() => 0);
    this.#placement = options.placement;
    this.#deps = options.deps;
    this.#fenced = options.fenced;
    this.#stopping = options.stopping;
    this.#interrupted = AbortSignal.any([options.fenced, options.stopping]);
    this.#released = options.released;
    this.#next = options.committed;
  }

  /** Next offset, and received_at of the last processed record, ms; undefined while unknown. */
  get position(): { next: number | undefined; processedUntil: number | undefined } {
    return { next: this.#next, processedUntil: this.#processedUntil };
  }

  /**
   * Returns the offset after the messages once all their results are in the log, undefined when
   * interrupted. Rejects when a publish failed.
   */
  async process(messages: readonly ConsumedMessage[]): Promise<number | undefined> {
    try {
      for (const { marker, messages: part } of splitAtMarks(messages)) {
        if (marker) await this.#passMark(marker, part[0]?.offset ?? 0);
        await this.#processAll(part);
      }
    } catch (error) {
      if ([this.#fenced, this.#stopping].some(({ aborted, reason }) => aborted && error === reason))
        return undefined;
      throw error;
    }
    const last = messages.at(-1);
    if (last) this.#next = last.offset + 1;
    return this.#next;
  }

  commitsLater(commits: LaterCommits): void {
    this.#commits = commits;
  }

  /** Everything before a mark is committed: `./ravand log grow` waits for it. */
  async #passMark(marker: LayoutMarker, offset: number): Promise<void> {
    if (!this.#placement) return;
    this.#next = offset;
    this.#commits?.commit(offset);
    await this.#placement.passMark(marker, this.#interrupted);
  }

  release(): Promise<void> {
    this.#released();
    return Promise.resolve();
  }

  async #processAll(messages: readonly ConsumedMessage[]): Promise<void> {
    const { semaphore, retryAfter, heldBack, retryUnconfirmed, unconfirmed } = this.#deps;
    for (let rest = messages; rest.length > 0;) {
      await semaphore.acquire();
      let progress: Progress;
      try {
        progress = await this.#resolveAndPublish(rest);
      } finally {
        semaphore.release();
      }
      if (progress.state === 'published') return;
      if (progress.state === 'unconfirmed') {
        await this.#wait(retryUnconfirmed, { reason: progress.error, report: unconfirmed });
      } else {
        const { from } = progress;
        rest = rest.filter(({ offset }) => offset >= from);
        await this.#wait(retryAfter, { reason: progress.share, report: heldBack });
      }
    }
  }

  /** Reports why, and the end. */
  async #wait<Reason>(
    ms: number,
    of: { reason: Reason; report: (partition: number, reason: Reason | undefined) => void },
  ): Promise<void> {
    of.report(this.#partition, of.reason);
    try {
      await delay(ms, this.#interrupted);
    } finally {
      of.report(this.#partition, undefined);
    }
  }

  async #resolveAndPublish(messages: readonly ConsumedMessage[]): Promise<Progress> {
    const { gate } = this.#deps;
    const records = messages.flatMap((message) => decodeRecords(message));
    const misplaced = misplacedIn(records, this.#placement);
    const claims = claimsToResolve(records, this.#epochOf);
    const here = claimsHere(claims, { records, misplaced });
    for (;;) {
      const round = await gate.enter(this.#interrupted);
      try {
        const resolved = await this.#resolve(here.claims, round);
        switch (resolved.status) {
          case 'resolved':
            return await this.#publish(
              { records, claims, resolutions: here.complete(resolved.resolutions) },
              misplaced,
            );
          // Waits outside of the gate: a load of the claims needs no answer of ClickHouse.
          case 'unconfirmed':
            return { state: 'unconfirmed', error: resolved.error };
          case 'lost':
            gate.claimsLost(round);
        }
      } finally {
        gate.leave();
      }
    }
  }

  /** After each load of the claims, what is in the log decides about positions that it reaches. */
  async #resolve(claims: readonly ClaimOfEvent[], round: number): Promise<Resolved> {
    const { claims: store, lastPublished } = this.#deps;
    if (this.#published?.round !== round) {
      const last = await lastPublished(this.#partition, this.#interrupted);
      this.#published = { round, last };
    }
    return resolveFrom(store, { claims, published: this.#published.last }, this.#interrupted);
  }

  /** Publishes chunks in order of position; always waits for all acknowledgements. */
  async #publish(batch: Chunk, misplaced: Misplaced): Promise<Progress> {
    const { publisher, judgeChunk, now, published, rowBatches, makeRow } = this.#deps;
    const { names, deadLetterPartitions } = this.#deps;
    const results = { names, partition: this.#partition, deadLetterPartitions };
    const publishing = publisher.begin();
    const sent: NormalisedChunk[] = [];
    let at = 0;
    let progress: Progress = { state: 'published' };
    try {
      for (const chunk of splitIntoChunks(batch, CHUNK_EVENTS)) {
        await yieldToEvents();
        await publisher.waitForCapacity();
        this.#fenced.throwIfAborted();
        const normalised = normaliseChunk(chunk, { rowBatches, makeRow, now: now() });
        const verdict = judgeChunk(normalised);
        if (verdict.verdict === 'stop') {
          const from = chunk.records[0]?.source.offset ?? 0;
          progress = { state: 'held-back', from, share: verdict.share };
          break;
        }
        const to = { misplaced, placement: this.#placement, topic: names.raw };
        for (const record of forwards(chunk.records, to)) publishing.send(record);
        for (const record of recordsOf(normalised, { ...results, records: chunk.records }))
          publishing.send(record);
        sent.push(normalised);
        at += chunk.records.length;
      }
    } finally {
      await publishing.acknowledged();
    }
    for (const chunk of sent) published(this.#partition, chunk);
    this.#processedUntil = receivedAt(batch.records[at - 1]) ?? this.#processedUntil;
    return progress;
  }
}

function receivedAt(result: DecodeResult | undefined): number | undefined {
  if (result === undefined) return undefined;
  return result.state === 'decoded' ? result.record.received_at : result.receivedAt;
}
