import { describe, expect, it } from 'vitest';
import { sharedRoutes } from '../account/routes.ts';
import { decideFeatures } from '../../account-api/features.ts';
import { grants, type Role } from '../../platform/permissions.ts';
import { routes } from './table.ts';

const features = decideFeatures({
  ...{ segments: true, analytics: true, ingest: true, asyncExports: true, campaigns: true },
  ...{ campaignRecurrence: true, campaignApproval: true, transactional: true },
});
const all = [...routes, ...sharedRoutes(features)];

function allowed(role: Role): string[] {
  return all
    .filter(({ permission }) => permission !== undefined && grants[role].includes(permission))
    .map(({ method, path }) => `${method} ${path}`);
}

describe('the routes of the control plane', () => {
  it('have a permission each, and no two the same place', () => {
    expect(all.filter(({ permission }) => permission === undefined)).toEqual([]);
    const places = all.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it('that change something need more than to read', () => {
    const reading = ['read', 'export'].map((right) => new RegExp(`\\.${right}$`));
    const harmless = /\/reports\/|\/audiences\/|\/saved-reports|\/dashboards|\/exports$/;
    const lax = all.filter(
      ({ method, path, permission = '' }) =>
        method !== 'GET' && !harmless.test(path) && reading.some((right) => right.test(permission)),
    );
    expect(lax).toEqual([]);
  });

  it('let a viewer read reports, live events, segments and campaigns, and no person', () => {
    const may = allowed('viewer');
    expect(may).toEqual(
      expect.arrayContaining(['GET /v1/overview', 'GET /v1/live', 'POST /v1/reports/funnel']),
    );
    expect(may.filter((place) => /people|sample|keys|members|audit|exports/.test(place))).toEqual(
      [],
    );
    const writes = may.filter(
      (place) => !/^GET|\/reports\/|\/audiences\/|saved-reports|dashboards/.test(place),
    );
    expect(writes).toEqual([]);
  });

  it('let finance read the usage alone', () => {
    expect(allowed('finance')).toEqual(['GET /v1/usage']);
  });
});
