import { beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, PageShell } from '../../support/page-examples.ts';
import { createAccount, readyStack } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';

const database = openPostgres();
const examples = examplesOf('docs/channels.md');
let shell: PageShell;

beforeAll(async () => {
  const { accountId, writeKey } = await createAccount('channels page');
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM apps WHERE account_id = $1',
    [accountId],
  );
  shell = new PageShell({
    ...{ INGEST: readyStack().ingest_url, WRITE_KEY: writeKey },
    ...{ ACCOUNT: String(accountId), APP: rows[0]?.id ?? '' },
  });
});

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

  it.each(examples)('prints what the page says: $command', (example) =>
    shell.expectOutput(example),
  );
});
