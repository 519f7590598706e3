import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** Whether V8 reads methods of strings fast, in a process that imports the module. */
function hasFastStrings(module: string): boolean {
  const script = `await import(${JSON.stringify(module)});
    process.stdout.write(String(%HasFastProperties(String.prototype)));`;
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', script];
  return execFileSync(process.execPath, args, { cwd: import.meta.dirname }).toString() === 'true';
}

describe('strings in a process that uses Redis', () => {
  it('are as fast as in others, although ioredis makes them slow', () => {
    expect(hasFastStrings(`${import.meta.dirname}/open-redis.ts`)).toBe(true);
    // Once this is true, fast-strings.ts is not needed any more.
    expect(hasFastStrings('ioredis')).toBe(false);
  });
});
