import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { INSTALLED_SERVICES } from '../../schemas/topology.ts';
import { allSettings } from '../generate/all-settings.ts';
import { composeFile } from '../generate/deployment.ts';
import { pythonTools } from '../tools/python-tools.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const FILE = join(import.meta.dirname, 'compose.yaml');
const INSTALL_MS = 300_000;
const SERVERS = ['kafka', 'clickhouse', 'postgres', 'redis'];
const STEPS = ['migrate-postgres', 'migrate-clickhouse', 'topics'];

interface ComposeService {
  image: string;
  command?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  ports?: string[];
}
interface Compose {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
}

let checked: { content: Compose; problems: string[] };
beforeAll(async () => {
  const script = join(CHECKOUT, 'deploy/tools/check-compose.py');
  const schema = join(import.meta.dirname, 'compose-spec.schema.json');
  const output = execFileSync('python3', [script, FILE, schema], { env: await pythonTools() });
  checked = JSON.parse(output.toString()) as typeof checked;
}, INSTALL_MS);

describe('compose.yaml', () => {
  it('is what the Compose specification allows', () => {
    expect(checked.problems).toEqual([]);
  });

  it('has the services of the topology and the settings that they read', async () => {
    const text = readFileSync(FILE, 'utf8');
    expect(text, 'run node deploy/generate/write.ts').toBe(composeFile(text, await allSettings()));
    expect(Object.keys(checked.content.services).sort()).toEqual(
      [...SERVERS, ...STEPS, ...INSTALLED_SERVICES].sort(),
    );
  });

  it('starts scripts that exist, after services that exist, with volumes that exist', () => {
    const { services, volumes } = checked.content;
    for (const [name, service] of Object.entries(services)) {
      for (const needed of Object.keys(service.depends_on ?? {}))
        expect(services, `${name} needs it`).toHaveProperty(needed);
      for (const volume of service.volumes ?? [])
        expect(volumes).toHaveProperty(volume.split(':')[0] ?? '');
      if (SERVERS.includes(name)) continue;
      const script = service.command?.find((word) => word.endsWith('.ts')) ?? '';
      expect(existsSync(join(CHECKOUT, script)), `${name}: ${script}`).toBe(true);
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    }
  });

  it('opens ports on this machine only', () => {
    const ports = Object.values(checked.content.services).flatMap((one) => one.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});
