import type { Parties, Scenario } from './scenario.ts';
import { repeated } from './scenario.ts';
import { inTurn, type Tenant } from './tenant.ts';

const DAY_MS = 86_400_000;
/** Poll interval for the state of an export, ms. */
const POLL_MS = 100;

/** A funnel of so many steps over the last 30 days. */
function funnel(steps: number): unknown {
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  return {
    steps: Array.from({ length: steps }, (_, at) => ({ event: `step_${at + 1}` })),
    from: day(30),
    to: day(-1),
  };
}

async function ask(
  parties: Pick<Parties, 'baseUrl'>,
  { path, key, body }: { path: string; key: string; body?: unknown },
): Promise<unknown> {
  const response = await fetch(`${parties.baseUrl}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** Reports: a funnel of four steps beside many funnels of twelve. */
export function reportsScenario(parties: Parties): Scenario {
  const [own, theirs] = keysOf(parties);
  return {
    resource: 'reports',
    attack: '24 funnels of 12 steps at a time',
    rate: 2,
    operation: async () => {
      await ask(parties, { path: '/v1/reports/funnel', key: own(), body: funnel(4) });
    },
    begin: () => {
      const worst = () =>
        ask(parties, { path: '/v1/reports/funnel', key: theirs(), body: funnel(12) });
      return Promise.resolve(repeated(24, worst));
    },
  };
}

/** Schema look-ups, which are cheap, beside many funnels. */
export function schemaScenario(parties: Parties): Scenario {
  const [own] = keysOf(parties);
  return {
    ...reportsScenario(parties),
    resource: 'schema and counts',
    rate: 4,
    operation: async () => {
      await ask(parties, { path: '/v1/ingest/quality', key: own() });
    },
  };
}

/** Exports: a small one, from the request to the file, beside as many as are allowed. */
export function exportsScenario(parties: Parties): Scenario {
  const [own, theirs] = keysOf(parties);
  const exported = async (key: () => string) => {
    const body = { kind: 'events', format: 'ndjson' };
    const { id } = (await ask(parties, { path: '/v1/exports', key: key(), body })) as {
      id: number;
    };
    for (;;) {
      const { data } = (await ask(parties, { path: '/v1/exports?limit=100', key: key() })) as {
        data: { id: number; status: string }[];
      };
      const status = data.find((job) => job.id === id)?.status;
      if (status === 'ready') return;
      if (status === 'failed') throw new Error(`export ${id} failed`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  return {
    resource: 'exports',
    attack: '16 exports of all events at a time',
    rate: 0.5,
    operation: () => exported(own),
    begin: () => Promise.resolve(repeated(16, () => exported(theirs))),
  };
}

function keysOf(parties: Parties): [() => string, () => string] {
  const keys = ({ managementKeys }: Tenant) => inTurn(managementKeys);
  return [keys(parties.measured), keys(parties.hostile)];
}
