import { constants, platform, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { decideLargeBody } from './decide-body.ts';
import type { ThreadAnswer, ThreadJob } from './decide-thread.ts';
import { mapLargeDelivery } from './map-body.ts';
import { readLargeFields } from './read-fields.ts';

// On Linux the priority of a thread is its own: ordinary requests go first.
if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on('message', (job: ThreadJob) => {
  const [began, before] = [performance.now(), process.threadCpuUsage()];
  const result = resultOf(job);
  const { user, system } = process.threadCpuUsage(before);
  const waitedMs = performance.now() - began - (user + system) / 1000;
  parentPort?.postMessage({ result, waitedMs } satisfies ThreadAnswer);
});

function resultOf(job: ThreadJob): unknown {
  switch (job.kind) {
    case 'decide':
      return decideLargeBody(withBuffer(job.input));
    case 'map':
      return mapLargeDelivery(withBuffer(job.input));
    case 'read':
      return readLargeFields(withBuffer(job.input)) ?? 'malformed';
  }
}

/** Buffers arrive as Uint8Array. */
function withBuffer<T extends { body: Uint8Array }>(sent: T): T & { body: Buffer } {
  const { buffer, byteOffset, length } = sent.body;
  return { ...sent, body: Buffer.from(buffer, byteOffset, length) };
}
