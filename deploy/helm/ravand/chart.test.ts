import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { INSTALLED_SERVICES } from '../../../schemas/topology.ts';
import { allSettings } from '../../generate/all-settings.ts';
import { chartServices } from '../../generate/deployment.ts';
import { pythonTools } from '../../tools/python-tools.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
/** With the download of Helm and of the schemas. */
const INSTALL_MS = 300_000;

interface Container {
  args: string[];
  env?: { name: string; value?: string; valueFrom?: unknown }[];
  readinessProbe?: unknown;
  livenessProbe?: unknown;
  lifecycle?: unknown;
  resources: { requests: object; limits: object };
  securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean };
}
interface Pod {
  securityContext: { runAsNonRoot: boolean };
  containers: [Container];
  terminationGracePeriodSeconds?: number;
}
interface Manifest {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    replicas?: number;
    template?: { spec: Pod };
    jobTemplate?: { spec: { template: { spec: Pod } } };
    volumeClaimTemplates?: unknown[];
    triggers?: { metadata: { topic: string; consumerGroup: string } }[];
    egress?: { to?: { ipBlock?: { cidr: string } }[] }[];
  };
}

const SMALLEST = {
  settings: { KAFKA_BROKERS: 'kafka:9092', EXPORT_S3_URL: 'https://s3.example/x' },
};
const EVERYTHING = {
  ...SMALLEST,
  extraVolumes: [{ name: 'ca', secret: { secretName: 'kafka-ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ravand' }],
  exports: { existingClaim: 'exports' },
  spool: { storageClass: 'fast' },
  imagePullSecrets: [{ name: 'registry' }],
  autoscaling: { cpu: { enabled: true }, keda: { enabled: true } },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  archive: { enabled: true },
  networkPolicy: { clients: [{ namespaceSelector: { matchLabels: { name: 'edge' } } }] },
};
const OWN_SETTINGS = {
  settings: {
    ...{ ...SMALLEST.settings, SPOOL_MAX_BYTES: '10GB', RETENTION_HOUR: '3' },
    REDIS_URL_FILE: '/run/secrets/redis-url',
  },
};
const CASES = {
  smallest: SMALLEST,
  everything: EVERYTHING,
  ownSettings: OWN_SETTINGS,
  noBrokers: {},
  noExports: { settings: { KAFKA_BROKERS: 'k:9092' } },
};
type Case = keyof typeof CASES;

interface Rendered {
  manifests: Manifest[];
  problems: string[];
  error?: string;
}

let results: Rendered[];
beforeAll(async () => {
  const script = join(CHECKOUT, 'deploy/tools/render-chart.py');
  const output = execFileSync('python3', [script, import.meta.dirname], {
    input: JSON.stringify(Object.values(CASES)),
    env: await pythonTools(),
    maxBuffer: 2 ** 26,
  });
  results = JSON.parse(output.toString()) as Rendered[];
}, INSTALL_MS);

function rendered(name: Case): Rendered {
  return results[Object.keys(CASES).indexOf(name)] ?? { manifests: [], problems: [] };
}

const podOf = ({ spec }: Manifest) => spec.template?.spec ?? spec.jobTemplate?.spec.template.spec;

describe('the Helm chart', () => {
  it('has the services of the topology and the settings that they read', async () => {
    const written = readFileSync(join(import.meta.dirname, 'services.json'), 'utf8');
    expect(written, 'run node deploy/generate/write.ts').toBe(chartServices(await allSettings()));
  });

  it.each([
    ['the fewest values', 'smallest'],
    ['everything enabled', 'everything'],
  ] as const)('renders with %s, without a field that Kubernetes does not know', (_, name) => {
    const { manifests, problems } = rendered(name);
    expect(problems).toEqual([]);
    const workloads = manifests.filter(({ kind }) => /^(StatefulSet|Deployment)$/.test(kind));
    expect(workloads.map(({ metadata }) => metadata.name).sort()).toEqual(
      INSTALLED_SERVICES.map((name) => `test-${name}`).sort(),
    );
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { kind } of manifests) expect(kind).not.toBe('Secret');
  });

  it('runs every process as nobody, on a read-only file system, bounded, with a script that exists', () => {
    const pods = rendered('everything').manifests.flatMap((one) => podOf(one) ?? []);
    expect(pods).toHaveLength(INSTALLED_SERVICES.length + 4);
    for (const { securityContext, containers } of pods) {
      const [container] = containers;
      expect(securityContext.runAsNonRoot).toBe(true);
      expect(container.securityContext).toMatchObject({
        ...{ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
      });
      expect(container.resources).toMatchObject({
        ...{ requests: { cpu: expect.any(String) as string } },
        limits: { memory: expect.any(String) as string },
      });
      const script = container.args.find((arg) => arg.endsWith('.ts')) ?? '';
      expect(existsSync(join(CHECKOUT, script)), script).toBe(true);
    }
  });

  it('gives a service the settings that it reads, and secrets from the Secret or from a file', () => {
    const { manifests } = rendered('ownSettings');
    const envOf = (name: string) =>
      new Map(
        manifests
          .filter(({ kind }) => /^(StatefulSet|Deployment)$/.test(kind))
          .find(({ metadata }) => metadata.name === `test-${name}`)
          ?.spec.template?.spec.containers[0].env?.map((one) => [one.name, one]),
      );
    const gateway = envOf('ingest-gateway');
    expect(gateway.get('SPOOL_MAX_BYTES')?.value).toBe('10GB');
    expect(gateway.has('RETENTION_HOUR')).toBe(false);
    expect(gateway.has('CLICKHOUSE_URL')).toBe(false);
    expect(gateway.get('DATABASE_URL')).toMatchObject({
      valueFrom: { secretKeyRef: { name: 'ravand', key: 'DATABASE_URL' } },
    });
    expect(gateway.get('REDIS_URL_FILE')?.value).toBe('/run/secrets/redis-url');
    expect(gateway.has('REDIS_URL')).toBe(false);
    expect(envOf('retention').get('RETENTION_HOUR')?.value).toBe('3');
  });

  it('keeps the spool of a gateway on a volume, and drains it before the process ends', () => {
    const gateway = rendered('smallest').manifests.find(({ kind }) => kind === 'StatefulSet');
    expect(gateway?.spec.volumeClaimTemplates).toHaveLength(1);
    const pod = gateway?.spec.template?.spec;
    expect(pod?.containers[0].lifecycle).toMatchObject({
      preStop: { exec: { command: ['node', 'deploy/drain/main.ts', '5', '90', '9464'] } },
    });
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(95);
  });

  it('lets only those services call others that send messages or deliver to customers', () => {
    const open = rendered('smallest')
      .manifests.filter(({ kind }) => kind === 'NetworkPolicy')
      .filter(({ spec }) =>
        spec.egress?.some(({ to }) => to?.some(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0')),
      );
    expect(open.map(({ metadata }) => metadata.labels['app.kubernetes.io/component'])).toEqual(
      expect.arrayContaining(['relays', 'dispatcher']),
    );
    expect(open.length).toBeLessThan(5);
  });

  it('migrates before it replaces a service, and scales consumers by the lag of their groups', () => {
    const { manifests } = rendered('everything');
    const jobs = manifests.filter(({ kind }) => kind === 'Job');
    expect(jobs.map(({ metadata }) => metadata.annotations?.['helm.sh/hook'])).toEqual(
      jobs.map(() => 'pre-install,pre-upgrade'),
    );
    const weight = (name: string) =>
      Number(
        jobs.find(({ metadata }) => metadata.name === `test-${name}`)?.metadata.annotations?.[
          'helm.sh/hook-weight'
        ],
      );
    expect(weight('topics')).toBeGreaterThan(weight('migrate-postgres'));
    const scaled = manifests.find(
      ({ kind, metadata }) => kind === 'ScaledObject' && metadata.name === 'test-normaliser',
    );
    expect(scaled?.spec.triggers?.[0]?.metadata).toMatchObject({
      ...{ topic: 'events.raw', consumerGroup: 'normaliser' },
    });
  });

  it('refuses values that cannot work, and says what to set', () => {
    expect(rendered('noBrokers').error).toContain('settings.KAFKA_BROKERS is empty');
    expect(rendered('noExports').error).toContain(
      'several processes of management-api share the files of exports',
    );
  });
});
