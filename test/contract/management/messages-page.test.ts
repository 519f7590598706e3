import { beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, PageShell } from '../../support/page-examples.ts';
import { createAccount, readyStack } from '../../support/stack.ts';

const PAGES = ['docs/messages.md', 'docs/deliverability.md'];

describe.each(PAGES)('%s', (page) => {
  let shell: PageShell;
  beforeAll(async () => {
    const { accountId, writeKey, managementKey } = await createAccount(page);
    const { ingest_url: ingest, base_url: api, sandbox_url: sandbox, demo } = readyStack();
    shell = new PageShell({
      ...{ INGEST: ingest, API: api, SANDBOX: sandbox },
      ...{ ACCOUNT: String(accountId), WRITE_KEY: writeKey, KEY: managementKey },
      DEMO: String(demo.account_id),
    });
  });

  it.each(examplesOf(page))('prints what the page says: $command', (example) =>
    shell.expectOutput(example),
  );
});

describe('docs/messages.md', () => {
  it('has an example of every route and of every command', () => {
    const commands = examplesOf('docs/messages.md').map(({ command }) => command);
    for (const part of [
      ...['/v1/messages ', '/v1/campaigns ', '/v1/campaigns/$CAMPAIGN ', '/send ', '/submit '],
      ...['-X PUT $API/v1/campaigns/$MONTHLY/recurrence', '-X DELETE $API', '/v1/exports '],
      ...['channel set', 'channel list', 'template create', 'template update', 'campaign pause'],
      ...['campaign resume', 'campaign cancel', 'campaign approve', 'campaign update'],
      ...['messages settings', 'meters show'],
    ])
      expect(
        commands.filter((command) => command.includes(part)),
        part,
      ).not.toEqual([]);
  });
});
