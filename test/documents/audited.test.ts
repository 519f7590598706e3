import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const checkout = join(import.meta.dirname, '../..');

/** Tables that hold what people and operators decided; ./ravand changes shows each change. */
const DECIDED = [
  ...['accounts', 'apps', 'write_keys', 'management_keys', 'members', 'memberships'],
  ...['segments', 'exports', 'relays', 'webhook_connections', 'short_links'],
  ...['app_inbox_secrets', 'onsite_campaigns', 'message_senders', 'message_templates'],
  ...['message_settings', 'campaigns', 'saved_reports', 'dashboards', 'operations'],
  ...['log_layout', 'written_schemas', 'dead_letters', 'erasures', 'erasure_keys'],
];

/** What writes them without an audit line, and why. */
const EXEMPT: Record<string, string> = {
  'ingest-gateway/links/link-store.ts': 'counts clicks',
  'ingest-gateway/webhooks/connection-store.ts': 'counts deliveries',
  'pipeline/relays/statements.ts': 'states of deliveries',
  'messaging/campaigns/status-sql.ts': 'what workers do',
  'pipeline/planner/instances/instance-store.ts': 'instances of a recurrence',
  'pipeline/planner/statements.ts': 'states of runs',
  'platform/log/layout.ts': 'the first layout of an installation',
  'platform/log/written-schemas.ts': 'its caller ops/log/finish-upgrade.ts writes the line',
  'ops/admin/member-store.ts': 'its caller ops/admin/member.ts writes the line',
  'messaging/links/short-link-store.ts':
    'ops/admin/link.ts writes the line; messages are no decision',
  'projections/retention/sweep-links.ts': 'links of messages that no longer count',
  'ops/operator/operation-queue.ts': 'states of operations; their commands write lines',
  'ops/admin/seal-rotate.ts': 'see there',
  'ops/admin/relay-seed.ts': 'part of account.created of the demo account',
  'ops/admin/webhook-seed.ts': 'part of account.created of the demo account',
  'ops/dlq/dead-letter-index.ts': 'an index of the topic events.dead',
  'ops/log/after-restore/hold-campaigns.ts': 'main.ts of its folder writes the line',
  'ops/log/after-restore/dead-letters.ts': 'main.ts of its folder writes the line',
  'ops/dlq/dead-letter-store.ts': 'discard-command.ts and redrive-command.ts write the lines',
  'ops/dlq/store-rows.ts': 'discard-command.ts and redrive-command.ts write the lines',
  'control-plane/relays/store.ts': 'changeWithAudit',
  'ops/erase/message-rows.ts': 'counted in the line erasure.removed of erasure-store.ts',
  'ops/erase/postgres-rows.ts': 'counted in the line erasure.removed of erasure-store.ts',
};

const WRITE = new RegExp(
  `(?:INSERT INTO|UPDATE|DELETE FROM) (?:${DECIDED.join('|')})\\b(?! *\\()|INSERT INTO (?:${DECIDED.join('|')}) *\\(`,
);

it('whatever changes what people decided writes an audit line', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts'], {
    ...{ cwd: checkout, encoding: 'utf8' },
  })
    .split('\n')
    .filter((file) => /^(?!test\/|bench\/)/.test(file) && file !== '')
    .filter((file) => !/\.test\.ts$|\/testing\//.test(file));
  const writing = files.filter((file) => WRITE.test(readFileSync(join(checkout, file), 'utf8')));
  expect(writing.length).toBeGreaterThan(8);
  const silent = writing.filter((file) => {
    const text = readFileSync(join(checkout, file), 'utf8');
    return !/recordAudit|audit_lines|auditedChange|changeWithAudit/.test(text);
  });
  // A replay has a line of its own.
  const unexplained = silent.filter((file) => !file.startsWith('ops/replay/') && !EXEMPT[file]);
  expect(unexplained).toEqual([]);
});

it.each([
  ['deploy/local/commands/stop-start.ts', 'auditStack'],
  ['deploy/local/commands/up.ts', 'auditStack'],
  ['deploy/local/commands/down.ts', 'auditStack'],
  ['projections/retention/run.ts', 'recordDeleted'],
  ['ops/person/change-person.ts', 'recordAudit'],
  ['ops/admin/alias.ts', 'recordAudit'],
  ['ops/dlq/discard-command.ts', 'audit('],
  ['ops/dlq/redrive-command.ts', 'audit('],
  ['ops/erase/erasure-store.ts', "'operator', 'erasure.removed'"],
  ['ops/admin/accounts.ts', 'auditedChange'],
  ['ops/admin/keys.ts', 'auditedChange'],
])('%s writes an audit line', (file, call) => {
  expect(readFileSync(join(checkout, file), 'utf8')).toContain(call);
});
