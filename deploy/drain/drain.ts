import { delay } from '../../platform/backoff.ts';

export interface DrainOptions {
  /** How long requests may still arrive after the pod left its Service, ms. */
  delayMs: number;
  /** How long the spool may take, ms; 0: the process has none. */
  drainMs: number;
  metricsUrl: string;
}

const POLL_MS = 500;
const REQUEST_MS = 2000;
const SPOOL = /^ravand_gateway_spool_bytes(?:\{[^}]*\})? ([0-9.e+]+)$/m;

/** Bytes in the spool that a gateway's metrics name; undefined: they name none. */
export function spooledBytes(metrics: string): number | undefined {
  const found = SPOOL.exec(metrics)?.[1];
  return found === undefined ? undefined : Number(found);
}

/**
 * Before a process gets SIGTERM: lets those who know its address go elsewhere, then waits until a
 * gateway has published its spool. What is left stays on its volume for the next process that has
 * it. Resolves with the bytes that are left.
 */
export async function drain({ delayMs, drainMs, metricsUrl }: DrainOptions): Promise<number> {
  await delay(delayMs);
  for (const deadline = performance.now() + drainMs; ;) {
    const left = drainMs === 0 ? 0 : await readSpool(metricsUrl);
    if (left === 0 || performance.now() >= deadline) return left;
    await delay(POLL_MS);
  }
}

/** 0 when the process does not answer: there is nobody to wait for. */
async function readSpool(url: string): Promise<number> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) });
    return spooledBytes(await answer.text()) ?? 0;
  } catch {
    return 0;
  }
}
