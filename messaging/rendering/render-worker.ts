import { parentPort, workerData } from 'node:worker_threads';
import type { CompiledPart } from './compile.ts';
import { CompiledTemplates } from './compiled-templates.ts';
import { coreClock } from './core-clock.ts';
import { UnusableTemplate } from './problem.ts';
import { renderMessage } from './render-message.ts';
import { READY, type RenderedJob, type RenderJob, type ThreadData } from './thread-messages.ts';

/** Other accounts wait for about so long, ms of a core. */
const SLICE_MS = 50;
/** A message takes about 0.1 ms; what takes so much longer is bounded for its account. */
const EXPENSIVE_MS = 50;

const progress = new Int32Array((workerData as ThreadData).progress);
const templates = new CompiledTemplates();
const cpuMs = coreClock({ core: usedMs, wall: () => performance.now() });

parentPort?.on('message', (job: RenderJob) => parentPort?.postMessage(renderSlice(job)));
parentPort?.postMessage(READY);

function renderSlice(job: RenderJob): RenderedJob {
  Atomics.store(progress, 0, 0);
  const parts = partsOf(job);
  if ('error' in parts) return { renderings: job.variables.map(() => parts), wastedMs: 0 };
  const answer: RenderedJob = { renderings: [], wastedMs: 0 };
  const began = cpuMs();
  let before = began;
  for (const variables of job.variables) {
    Atomics.store(progress, 0, answer.renderings.length);
    answer.renderings.push(renderMessage({ parts, channel: job.channel }, variables, cpuMs));
    const after = cpuMs();
    if (after - before > EXPENSIVE_MS) answer.wastedMs += after - before;
    if (after - began > SLICE_MS) break;
    before = after;
  }
  return answer;
}

function partsOf(job: RenderJob): readonly CompiledPart[] | { error: string } {
  try {
    return templates.get(job);
  } catch (error) {
    if (error instanceof UnusableTemplate) return { error: error.message };
    throw error;
  }
}

/** Time of a core that this thread has used, ms. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
