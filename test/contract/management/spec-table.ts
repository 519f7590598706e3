export interface SpecRow {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  permission: string | undefined;
  cost: number | undefined;
  lock: boolean;
  /** What a body that is no JSON gets; undefined where none is read. */
  malformed: 'coded' | 'flat' | 'report' | undefined;
}

type Cells = [
  SpecRow['method'],
  string,
  string | undefined,
  number | undefined,
  boolean?,
  SpecRow['malformed']?,
];

const cells: Cells[] = [
  ['GET', '/v1/status', undefined, undefined],
  ['GET', '/v1/whoami', undefined, 1],
  ['GET', '/v1/capabilities', undefined, 1],
  ['GET', '/v1/schema/events', 'event.read', 5],
  ['GET', '/v1/schema/traits', 'event.read', 5],
  ['GET', '/v1/ingest/quality', 'event.read', 5],
  ['POST', '/v1/audiences/validate', 'segment.read', 1, false, 'flat'],
  ['POST', '/v1/audiences/count', 'segment.read', 25, false, 'flat'],
  ['GET', '/v1/segments', 'segment.read', 1],
  ['GET', '/v1/segments/{id}', 'segment.read', 1],
  ['POST', '/v1/segments', 'segment.write', 1, false, 'coded'],
  ['PUT', '/v1/segments/{id}', 'segment.write', 1, false, 'coded'],
  ['DELETE', '/v1/segments/{id}', 'segment.delete', 1],
  ['GET', '/v1/campaigns', 'campaign.read', 1],
  ['GET', '/v1/campaigns/{id}', 'campaign.read', 5],
  ['POST', '/v1/campaigns', 'campaign.write', 1, false, 'coded'],
  ['PUT', '/v1/campaigns/{id}/recurrence', 'campaign.send', 1, false, 'coded'],
  ['DELETE', '/v1/campaigns/{id}/recurrence', 'campaign.send', 1],
  ['POST', '/v1/campaigns/{id}/send', 'campaign.send', 1],
  ['POST', '/v1/campaigns/{id}/submit', 'campaign.write', 1],
  ['POST', '/v1/events', 'profile.write', 5, false, 'coded'],
  ['GET', '/v1/exports', 'data.export', 1, true],
  ['POST', '/v1/exports', 'data.export', 25, true, 'coded'],
  ['POST', '/v1/reports/funnel', 'analytics.read', 25, true, 'report'],
  ['POST', '/v1/reports/retention', 'analytics.read', 25, true, 'report'],
  ['POST', '/v1/messages', 'campaign.send', 1],
];

/** The route table of management 4.1 as the specification prints it. */
export const specTable: readonly SpecRow[] = cells.map(
  ([method, path, permission, cost, lock = false, malformed]) => ({
    method,
    path,
    permission,
    cost,
    lock,
    malformed,
  }),
);

export const pathOf = ({ path }: { path: string }) => path.replace('{id}', '5');
