import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { reportProblem } from './report-problem.ts';
import { postFunnel, postRetention } from './handlers.ts';

const report = {
  method: 'POST',
  auth: 'key',
  permission: 'analytics.read',
  cost: 25,
  lock: true,
  features: ['analytics'],
  bodyLimit: BODY.query,
  malformed: { code: 'invalid_report', message: reportProblem('body').message },
  flat: ['invalid_report', 'report_unavailable'],
  coded: [],
  timeout: TIMEOUT.report,
} as const;

export const reportRoutes: readonly Route[] = [
  {
    ...report,
    path: '/v1/reports/funnel',
    summary: 'How many people get through a series of steps',
    schemas: { request: 'FunnelRequest', response: 'FunnelAnswer', status: 200 },
    handler: postFunnel,
  },
  {
    ...report,
    path: '/v1/reports/retention',
    summary: 'How many people come back, period by period',
    schemas: { request: 'RetentionRequest', response: 'RetentionAnswer', status: 200 },
    handler: postRetention,
  },
];
