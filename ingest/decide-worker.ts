import { constants, platform, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { decideLargeBody, type BodyToDecide } from './decide-body.ts';

// On Linux the priority of a thread is its own: ordinary requests go first.
if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on('message', (sent: BodyToDecide) => {
  const { buffer, byteOffset, length } = sent.body;
  parentPort?.postMessage(
    decideLargeBody({ ...sent, body: Buffer.from(buffer, byteOffset, length) }),
  );
});
