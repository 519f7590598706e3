import { randomBytes } from 'node:crypto';
import type { OnsiteDefinition } from '../events/channels/onsite/definition.ts';
import { visitorHash } from '../events/channels/onsite/visitor.ts';
import { OnsiteCatalogue } from '../ingest-gateway/onsite/catalogue.ts';
import { Memberships } from '../ingest-gateway/onsite/memberships.ts';
import { onsiteRoutes } from '../ingest-gateway/onsite/onsite-routes.ts';
import { ShownCampaigns } from '../ingest-gateway/onsite/shown-campaigns.ts';

/**
 * node bench/onsite.ts
 * GET /v1/onsite behind HTTP and the write key, on one core: live campaigns and members of their
 * audiences in memory. Needs no stack.
 */
const REQUESTS = 5000;
const VISITORS = 5000;
const ACCOUNT = 7;

interface Scenario {
  title: string;
  campaigns: number;
  audiences: number;
  namesPerAudience: number;
  /** Every nth campaign has a condition on the page; 0: none. */
  urlEvery: number;
  frequency: OnsiteDefinition['frequency'];
}

const SCENARIOS: readonly Scenario[] = [
  {
    ...{ title: '20 campaigns, 5 audiences', campaigns: 20, audiences: 5, urlEvery: 2 },
    ...{ namesPerAudience: 100_000, frequency: 'once' },
  },
  {
    ...{ title: '1,000 campaigns by page', campaigns: 1000, audiences: 100, urlEvery: 1 },
    ...{ namesPerAudience: 50_000, frequency: 'session' },
  },
  {
    ...{ title: '1,000 campaigns, as many audiences', campaigns: 1000, audiences: 1000 },
    ...{ urlEvery: 0, namesPerAudience: 5000, frequency: 'always' },
  },
];

console.log('| on-site | requests/s a core | CPU µs | p99 µs | listed |');
console.log('| --- | --- | --- | --- | --- |');
for (const scenario of SCENARIOS) await run(scenario);

async function run(scenario: Scenario): Promise<void> {
  const memberships = new Memberships();
  for (let at = 0; at < scenario.audiences; at++) fill(memberships, `a${at}`, scenario);
  const shown = new ShownCampaigns({
    // A store that answers at once: what it costs a gateway and not what it costs PostgreSQL.
    store: {
      of: (visitors) => Promise.resolve(new Map(visitors.map((id) => [id, new Map()]))),
      add: () => Promise.resolve(),
    },
    ...{ now: Date.now, onFailed: () => undefined },
  });
  const [list] = onsiteRoutes({
    campaigns: {
      ...{ catalogue: catalogueOf(scenario, memberships), memberships },
      refresh: () => Promise.resolve(true),
    },
    ...{ shown, service: { accept: () => Promise.reject(new Error('not used')) } },
  });
  const times = new Float64Array(REQUESTS);
  let bytes = 0;
  let cpu = process.cpuUsage();
  for (const isMeasured of [false, true]) {
    cpu = process.cpuUsage();
    for (let at = 0; at < REQUESTS; at++) {
      const query = `url=https%3A%2F%2Fshop.ir%2Fp%2F${at % 50}&user_id=u${at % VISITORS}&anonymous_id=v${at}`;
      const startedAt = performance.now();
      const answer = await list?.answer({
        ...{ body: {}, query, trace: 't', receivedAt: Date.now(), ip: '', userAgent: '' },
        principal: { accountId: ACCOUNT, appId: 1, writeKeyId: 1 },
      });
      if (isMeasured) times[at] = (performance.now() - startedAt) * 1000;
      bytes += answer?.body.length ?? 0;
    }
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort();
  const mean = (user + system) / REQUESTS;
  const p99 = times[Math.floor(REQUESTS * 0.99)] ?? NaN;
  const rate = Math.round(1e6 / mean).toLocaleString('en');
  console.log(
    `| ${scenario.title} | ${rate} | ${mean.toFixed(1)} | ${p99.toFixed(1)} | ${Math.round(bytes / REQUESTS / 2)} B |`,
  );
}

function catalogueOf(
  { campaigns, audiences, urlEvery, frequency }: Scenario,
  memberships: Memberships,
): OnsiteCatalogue {
  const catalogue = new OnsiteCatalogue();
  for (let id = 1; id <= campaigns; id++)
    catalogue.set(
      {
        ...{ id, accountId: ACCOUNT, audience: `a${id % audiences}`, enabled: true, updatedAt: 0 },
        ...{ startsAt: -Infinity, endsAt: Infinity },
        definition: {
          ...{ kind: 'popup', content: { title: 'تخفیف', text: 'x'.repeat(200) }, fields: [] },
          url:
            urlEvery > 0 && id % urlEvery === 0 ? [{ op: 'contains', value: `/p/${id % 50}` }] : [],
          frequency,
        },
      },
      memberships,
    );
  return catalogue;
}

/** Random names, and a tenth of the visitors. */
function fill(memberships: Memberships, audience: string, { namesPerAudience }: Scenario): void {
  const own = Array.from({ length: VISITORS / 10 }, (_, at) => {
    const { high, low } = visitorHash(ACCOUNT, `u${at * 10}`);
    return (BigInt(high) << 32n) | BigInt(low);
  });
  const others = new BigUint64Array(randomBytes(namesPerAudience * 8).buffer.slice(0));
  const all = new BigUint64Array([...own, ...others.subarray(0, namesPerAudience)]).sort();
  const layout = { accountId: ACCOUNT, audience, bits: 0 };
  memberships.addChunk({ ...layout, chunk: 0, names: Buffer.from(all.buffer) });
  memberships.setLayout(layout);
}
