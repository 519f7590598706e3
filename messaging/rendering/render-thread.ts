import { Worker } from 'node:worker_threads';
import { READY, type RenderedJob, type RenderJob, type ThreadData } from './thread-messages.ts';

/** A machine without a free core is not the template's fault, but every wait ends. */
const MAX_JOB_MS = 60_000;
const CHECK_MS = 100;
const NONE: NodeJS.CpuUsage = { user: 0, system: 0 };
/** Of a thread: templates, and the messages of one job. */
export const MAX_HEAP_MIB = 256;

export type ThreadResult =
  | ({ kind: 'rendered' } & RenderedJob)
  /** The thread had to be ended because of this message of the job. */
  | { kind: 'ended'; index: number; why: string; wastedMs: number }
  /** It ended, or got no core, through no fault of the messages. */
  | { kind: 'lost' };

interface ThreadLimits {
  heapMib: number;
  /** Time of a core: a job that takes more hangs. */
  maxJobCpuMs: number;
}

/** One thread that renders; starts with its first job, and again after it was ended. */
export class RenderThread {
  readonly #progress = new SharedArrayBuffer(4);
  readonly #limits: ThreadLimits;
  #worker: Promise<Worker> | undefined;

  constructor(limits: ThreadLimits) {
    this.#limits = limits;
  }

  /** One job at a time. Rejects when no thread can be started. */
  async run(job: RenderJob): Promise<ThreadResult> {
    const worker = await (this.#worker ??= this.#start());
    // Only a thread that works keeps the process alive.
    worker.ref();
    const { maxJobCpuMs } = this.#limits;
    return await new Promise<ThreadResult>((resolve, reject) => {
      const began = performance.now();
      let isComplete = false;
      const timer = setInterval(() => void check(), CHECK_MS);
      const release = () => {
        isComplete = true;
        clearInterval(timer);
        worker.unref();
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      };
      const stop = (result: ThreadResult) => {
        // The worker may have the next job already.
        if (isComplete) return;
        release();
        this.#worker = undefined;
        void worker.terminate();
        resolve(result);
      };
      const end = (why: string) => {
        const [index = 0] = new Int32Array(this.#progress);
        stop({ kind: 'ended', index, why, wastedMs: maxJobCpuMs });
      };
      let before: Promise<NodeJS.CpuUsage> | undefined;
      const check = async () => {
        // Asked for when the first check is due: most jobs end earlier.
        before ??= worker.cpuUsage();
        const used = await before.then((then) => worker.cpuUsage(then)).catch(() => NONE);
        const isHanging = (used.user + used.system) / 1000 > maxJobCpuMs;
        if (isHanging) end('it took too long');
        else if (performance.now() - began > MAX_JOB_MS) stop({ kind: 'lost' });
      };
      const onMessage = (answer: RenderedJob) => {
        release();
        resolve({ kind: 'rendered', ...answer });
      };
      const onError = () => end('it took too much memory');
      const onExit = () => stop({ kind: 'lost' });
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      try {
        worker.postMessage(job);
      } catch (error) {
        release();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  async end(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined);
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): Promise<Worker> {
    const data: ThreadData = { progress: this.#progress };
    // The thread has no settings: what a template could read would be nobody's secret.
    const worker = new Worker(new URL('render-worker.ts', import.meta.url), {
      ...{ name: 'render-templates', workerData: data, env: {} },
      resourceLimits: {
        maxOldGenerationSizeMb: this.#limits.heapMib,
        maxYoungGenerationSizeMb: 16,
      },
    });
    const started = new Promise<Worker>((resolve, reject) => {
      worker.once('message', (message) => {
        if (message === READY) resolve(worker);
      });
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`a rendering thread ended with ${code}`)));
    });
    // Between two jobs nobody listens; without a listener an error would end the process.
    worker.on('error', () => undefined);
    const forget = () => {
      if (this.#worker === started) this.#worker = undefined;
    };
    worker.on('exit', forget);
    started.then(() => worker.unref(), forget);
    return started;
  }
}
