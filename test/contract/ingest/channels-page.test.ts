import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, eventually, readyStack } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const execute = promisify(execFile);
const database = openPostgres();

interface Example {
  command: string;
  /** What it prints; undefined when it prints nothing. */
  output: string | undefined;
}

/** The commands of a page, each with what follows it. */
function examplesOf(page: string): Example[] {
  const blocks = [...page.matchAll(/^```console\n([^]*?)^```/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const [command = '', ...output] = example.trimEnd().split('\n');
        return { command, output: output.length === 0 ? undefined : output.join('\n') };
      }),
  );
}

const examples = examplesOf(readFileSync(join(CHECKOUT, 'docs/channels.md'), 'utf8'));
const variables: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  const { accountId, writeKey } = await createAccount('channels page');
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM apps WHERE account_id = $1',
    [accountId],
  );
  Object.assign(variables, {
    ...{ INGEST: readyStack().ingest_url, WRITE_KEY: writeKey },
    ...{ ACCOUNT: String(accountId), APP: rows[0]?.id ?? '' },
  });
});

async function bash(script: string): Promise<string> {
  const { stdout } = await execute('bash', ['-c', script], {
    ...{ cwd: CHECKOUT, timeout: 60_000, env: { ...process.env, ...variables } },
  });
  return stdout.trimEnd();
}

/** `…` stands for any text within a line. */
function pattern(output: string): RegExp {
  const parts = output.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`);
}

describe('docs/channels.md', () => {
  it('has examples of every route', () => {
    const commands = examples.map(({ command }) => command).join('\n');
    for (const path of [
      ...['/v1/devices ', '/v1/devices/unregister', '/v1/webpush/subscribe'],
      ...['/v1/webpush/unsubscribe', '/v1/messenger/link', '/v1/messenger/unlink', '/v1/inbox'],
      ...['/v1/onsite?', '/v1/onsite/event', '/v1/onsite/response', '$UNSUBSCRIBE', '$BOUNCE'],
    ])
      expect(commands).toContain(path);
  });

  it.each(examples)('prints what the page says: $command', async ({ command, output }) => {
    const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(command) ?? [];
    if (name !== undefined && value !== undefined) {
      variables[name] = await bash(`printf %s ${value}`);
      expect(variables[name]).not.toBe('');
      return;
    }
    let printed = '';
    // What a request changed is visible after a moment.
    await eventually({ ms: 45_000, every: 500, waitingFor: command }, async () => {
      printed = await bash(command);
      return pattern(output ?? '').test(printed) ? true : undefined;
    }).catch((error: unknown) => {
      expect(printed, String(error)).toBe(output);
    });
  });
});
