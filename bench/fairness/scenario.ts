import type { Tenant } from './tenant.ts';

/** The stack and the accounts of a run. */
export interface Parties {
  /** The account whose latencies are measured. */
  measured: Tenant;
  /** The account at its worst. */
  hostile: Tenant;
  baseUrl: string;
  ingestUrl: string;
  /** Of the reference: a gateway process of its own, which nobody attacks. */
  referenceUrl: string;
}

/** A resource that accounts share. */
export interface Scenario {
  resource: string;
  /** What the hostile account does, for the table. */
  attack: string;
  /** One operation of the measured account; resolves once answered, rejects when it failed. */
  operation: () => Promise<void>;
  /** The same operation at the reference. Its latency is that of the machine under the attack. */
  reference?: () => Promise<void>;
  /** Operations a second. */
  rate: number;
  /** Starts the attack; resolves with the function that ends it and counts its attempts. */
  begin: () => Promise<() => Promise<number>>;
  close?: () => Promise<void>;
}

/** Repeats an operation in so many loops at once until it is stopped; failures count as well. */
export function repeated(
  concurrency: number,
  operation: () => Promise<unknown>,
): () => Promise<number> {
  let isStopped = false;
  let attempts = 0;
  const loop = async () => {
    while (!isStopped) {
      attempts++;
      // A refusal is an answer too; the pause keeps a refused attacker from being only a busy loop.
      await operation().catch(() => new Promise((resolve) => setTimeout(resolve, 5)));
    }
  };
  const loops = Array.from({ length: concurrency }, loop);
  return async () => {
    isStopped = true;
    await Promise.all(loops);
    return attempts;
  };
}

/** Latencies of operations at a fixed rate, ms; an operation that is due late starts at once. */
export async function latencies(
  { operation, rate }: Pick<Scenario, 'operation' | 'rate'>,
  durationMs: number,
): Promise<{ ms: number[]; failed: number }> {
  const begun = performance.now();
  const ms: number[] = [];
  let failed = 0;
  const running: Promise<void>[] = [];
  for (let n = 0; n < (rate * durationMs) / 1000; n++) {
    const due = begun + (n / rate) * 1000;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    // Waiting for a turn counts: the client asked when the operation was due.
    running.push(
      operation().then(
        () => {
          ms.push(performance.now() - due);
        },
        () => {
          failed++;
        },
      ),
    );
  }
  await Promise.all(running);
  return { ms, failed };
}
