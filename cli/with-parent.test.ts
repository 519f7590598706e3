import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('a command ends when the channel to the process that started it closes', async () => {
  const child = fork(join(import.meta.dirname, 'testing/with-parent-process.ts'));
  try {
    await once(child, 'message');
    const ended = once(child, 'exit');
    // As the kernel does when the parent is killed.
    child.disconnect();
    expect(await ended).toEqual([null, 'SIGTERM']);
  } finally {
    child.kill('SIGKILL');
  }
});
