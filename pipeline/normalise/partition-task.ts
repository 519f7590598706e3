import { setImmediate as yieldToEvents } from 'node:timers/promises';
import type { ContextReader } from '../../events/normalise.ts';
import { delay } from '../../platform/backoff.ts';
import type { ResolvedClaims } from '../../platform/claims/claim-store.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { OutgoingRecord } from '../../platform/kafka/producer.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import type { Verdict } from '../../schemas/records.ts';
import type { ClaimToResolve } from '../../events/claims/resolution.ts';
import { deadLetterRecord } from '../dead-letters/dead-letter.ts';
import type { BreakerVerdict } from '../../platform/dead-letter-breaker.ts';
import { claimsToResolve } from '../../events/raw/record-claims.ts';
import {
  normaliseChunk,
  splitIntoChunks,
  type NormalisedChunk,
  type Chunk,
} from './normalise-chunk.ts';
import type { Names } from './config.ts';
import type { ClaimsGate } from './claims-gate.ts';
import type { Publisher } from './publisher.ts';
import { decodeRecord, type DecodeResult } from '../../events/raw/decode-record.ts';
import type { RowBatchBuilder } from './row-batch-builder.ts';
import type { Semaphore } from './semaphore.ts';

/** What all partitions of a process share. */
export interface NormaliserDeps {
  epoch: number;
  claims: {
    settle(entries: readonly ClaimToResolve[], signal: AbortSignal): Promise<ResolvedClaims>;
  };
  gate: ClaimsGate;
  semaphore: Semaphore;
  publisher: Publisher;
  rowBatches: RowBatchBuilder;
  contexts: ContextReader;
  /** Where everything goes. */
  names: Pick<Names, 'normalised' | 'verdicts' | 'dead'>;
  deadLetterPartitions: number;
  /** Whether a part may be published; see platform/dead-letter-breaker.ts. */
  judgeChunk: (part: NormalisedChunk) => BreakerVerdict;
  /** ms until a stopped part is tried again. */
  retryAfter: number;
  now: () => number;
  /** Called when a part is in the log for good, with its verdicts. */
  published: (partition: number, part: NormalisedChunk) => void;
  /** Called when the breaker holds a part back, and with undefined when it goes on. */
  heldBack: (partition: number, share: number | undefined) => void;
}

/**
 * About so many events are decided between two looks at the event loop, and published or held back
 * together.
 */
const PART_EVENTS = 2000;

/**
 * `stopped`: the breaker holds back everything from this reading on; what came before is published.
 */
type Progress =
  | { readonly state: 'published' }
  | { readonly state: 'stopped'; readonly at: number; readonly share: number };

export interface TaskOptions {
  partition: number;
  committed: number | undefined;
  deps: NormaliserDeps;
  fenced: AbortSignal;
  stopping: AbortSignal;
  /** Called when the partition leaves this process: nothing of it is in flight any more. */
  released: () => void;
}

/** The normalisation of one partition of events.raw (DESIGN.md, "The way of an event"). */
export class NormaliserTask implements PartitionTask {
  readonly from = undefined;
  readonly #partition: number;
  readonly #shop: NormaliserDeps;
  readonly #fenced: AbortSignal;
  readonly #stopping: AbortSignal;
  /** Ends every wait that may take long. */
  readonly #patience: AbortSignal;
  readonly #released: () => void;
  #settledAt: number | undefined;
  #next: number | undefined;

  /**
   * `committed`: the next offset to read, undefined when nothing was committed yet. `fenced` aborts
   * when the partition is taken away: nothing more is published. `stopping` aborts when the process
   * ends: what is being published is finished, nothing else is waited for, and nothing more is
   * taken.
   */
  constructor(options: TaskOptions) {
    this.#partition = options.partition;
    this.#shop = options.deps;
    this.#fenced = options.fenced;
    this.#stopping = options.stopping;
    this.#patience = AbortSignal.any([options.fenced, options.stopping]);
    this.#released = options.released;
    this.#next = options.committed;
  }

  /**
   * How far the partition has come: the next offset, and received_at of the last settled record,
   * ms. Undefined where nothing is known yet.
   */
  get position(): { next: number | undefined; settledAt: number | undefined } {
    return { next: this.#next, settledAt: this.#settledAt };
  }

  /**
   * Answers the offset behind the messages when all that they give is in the log, undefined when it
   * was interrupted. Rejects when a publish failed.
   */
  async process(messages: readonly ConsumedMessage[]): Promise<number | undefined> {
    try {
      await this.#takeAll(messages);
    } catch (error) {
      if ([this.#fenced, this.#stopping].some(({ aborted, reason }) => aborted && error === reason))
        return undefined;
      throw error;
    }
    const last = messages.at(-1);
    if (last) this.#next = last.offset + 1;
    return this.#next;
  }

  release(): Promise<void> {
    this.#released();
    return Promise.resolve();
  }

  async #takeAll(messages: readonly ConsumedMessage[]): Promise<void> {
    const { semaphore: turnstile, retryAfter, heldBack: stopped } = this.#shop;
    for (let rest = messages; rest.length > 0;) {
      const taken = rest;
      const progress = await turnstile.pass(() => this.#work(taken));
      if (progress.state === 'published') return;
      rest = rest.slice(progress.at);
      stopped(this.#partition, progress.share);
      try {
        await delay(retryAfter, this.#patience);
      } finally {
        stopped(this.#partition, undefined);
      }
    }
  }

  async #work(messages: readonly ConsumedMessage[]): Promise<Progress> {
    const { gate, claims: claims, epoch } = this.#shop;
    const readings = messages.map((message) => decodeRecord(message));
    const entries = claimsToResolve(readings, epoch);
    for (;;) {
      const round = await gate.enter(this.#patience);
      try {
        const settled = await claims.settle(entries, this.#patience);
        switch (settled.status) {
          case 'settled':
            return await this.#publish({
              records: readings,
              claims: entries,
              resolutions: settled.settlements,
            });
          case 'lost':
            gate.claimsLost(round);
        }
      } finally {
        gate.leave();
      }
    }
  }

  /**
   * Publishes part by part, in the order of places, and waits for Kafka's acknowledgement of
   * everything it sent, whatever happens.
   */
  async #publish(batch: Chunk): Promise<Progress> {
    const {
      publisher: outbox,
      judgeChunk: judge,
      now,
      published,
      rowBatches: runs,
      contexts,
      names,
      deadLetterPartitions,
    } = this.#shop;
    const shipment = outbox.begin();
    const shipped: NormalisedChunk[] = [];
    let at = 0;
    let progress: Progress = { state: 'published' };
    try {
      for (const part of splitIntoChunks(batch, PART_EVENTS)) {
        await yieldToEvents();
        await outbox.waitForCapacity();
        this.#fenced.throwIfAborted();
        const composed = normaliseChunk(part, { runs, contexts, now: now() });
        const verdict = judge(composed);
        if (verdict.verdict === 'stop') {
          progress = { state: 'stopped', at, share: verdict.share };
          break;
        }
        for (const { value } of composed.rowBatches)
          shipment.send({ topic: names.normalised, partition: this.#partition, key: null, value });
        for (const letter of composed.deadLetters)
          shipment.send(
            deadLetterRecord(letter, { topic: names.dead, partitions: deadLetterPartitions }),
          );
        if (composed.verdicts.length > 0) shipment.send(this.#verdictRecord(composed.verdicts));
        shipped.push(composed);
        at += part.records.length;
      }
    } finally {
      await shipment.acknowledged();
    }
    for (const part of shipped) published(this.#partition, part);
    this.#settledAt = receivedAt(batch.records[at - 1]) ?? this.#settledAt;
    return progress;
  }

  #verdictRecord(verdicts: readonly Verdict[]): OutgoingRecord {
    const partition = this.#partition;
    return {
      topic: this.#shop.names.verdicts,
      partition,
      key: null,
      value: verdictRecordCodec.encode({ partition, verdicts: [...verdicts] }),
    };
  }
}

function receivedAt(reading: DecodeResult | undefined): number | undefined {
  if (reading === undefined) return undefined;
  return reading.state === 'read' ? reading.record.received_at : reading.receivedAt;
}
