/**
 * Runs one container for as long as this process runs. Started by the supervisor as `node
 * deploy/local/container-service.ts FILE` (JSON of ContainerSpec).
 */
import { readFileSync } from 'node:fs';
import { GenericContainer, Wait } from 'testcontainers';
import type { ContainerSpec } from './containers.ts';

const STOP_MS = 10_000;
const PULL_AND_START_MS = 300_000;

const file = process.argv[2];
if (file === undefined) throw new Error('usage: node deploy/local/container-service.ts FILE');
const spec = JSON.parse(readFileSync(file, 'utf8')) as ContainerSpec;

const container = new GenericContainer(spec.image)
  .withNetworkMode('host')
  .withEnvironment(spec.env ?? {})
  .withBindMounts((spec.mounts ?? []).map((mount) => ({ ...mount, mode: 'rw' as const })))
  .withCopyContentToContainer(spec.files ?? [])
  .withStartupTimeout(PULL_AND_START_MS)
  // The supervisor probes whether it answers; here it only has to run.
  .withWaitStrategy(Wait.forLogMessage(/./))
  .withLogConsumer((stream) => stream.pipe(process.stdout));
if (spec.command) container.withCommand(spec.command);

const started = await container.start().catch((error: unknown) => {
  console.error(
    `no container from ${spec.image} (TEST_SERVICES=containers needs a Docker engine; unset it to run the servers as processes): ${String(error)}`,
  );
  process.exit(1);
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    started.stop({ timeout: STOP_MS }).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
// When the container exits, so does this process, and the supervisor restarts both.
setInterval(() => {
  started.exec(['true']).catch(() => process.exit(1));
}, 2000);
