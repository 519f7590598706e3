import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addressMetrics } from './metrics.ts';

it('counts what mail servers reported, and no suppression by a person', async () => {
  const registry = new Registry();
  const report = (kind: string, reason: string, source = 'bounce', channel = 'email') => ({
    ...{ kind, channel, reason, source },
  });
  addressMetrics(registry).applied([
    report('address_suppressed', 'hard_bounce 5.1.1'),
    report('address_suppressed', 'no such user', 'provider'),
    report('address_suppressed', 'no such number', 'provider', 'sms'),
    report('address_suppressed', 'complaint abuse'),
    report('address_suppressed', 'asked by phone', 'operator'),
    report('soft_bounced', 'soft_bounce 4.2.2'),
    report('consent_changed', '', 'page'),
  ]);
  const found = await registry.getSingleMetric('ravand_email_reports_total')?.get();
  expect(found?.values.map(({ labels, value }) => [labels['kind'], value])).toEqual([
    ['hard_bounce', 2],
    ['soft_bounce', 1],
    ['complaint', 1],
  ]);
});
