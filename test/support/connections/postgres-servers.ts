import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../service-process.ts';
import { Aborted, eventually } from '../stack.ts';
import type { Authority } from './certificates.ts';
import { OwnProcess } from './own-process.ts';

export const POSTGRES_PASSWORD = 'postgres-secret';

/** Whom the servers run as: neither starts as root. */
const IDS =
  process.getuid?.() === 0
    ? { uid: idOf('-u'), gid: idOf('-g') }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

function idOf(option: '-u' | '-g'): number {
  return Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
}

/** Where the newest PostgreSQL of Debian has its programs. */
function programs(): string {
  const versions = readdirSync('/usr/lib/postgresql').map(Number);
  return `/usr/lib/postgresql/${Math.max(...versions)}/bin`;
}

function ownedCopy(source: string, target: string): string {
  copyFileSync(source, target);
  chmodSync(target, 0o600);
  chownSync(target, IDS.uid, IDS.gid);
  return target;
}

function ownedFile(path: string, content: string): string {
  writeFileSync(path, content, { mode: 0o600 });
  chownSync(path, IDS.uid, IDS.gid);
  return path;
}

export interface RunningPostgres {
  port: number;
  process: OwnProcess;
}

/**
 * PostgreSQL that accepts TLS only: `postgres` with its password, and `ravand` with a client
 * certificate of that name.
 */
export async function startPostgres(
  folder: string,
  authority: Authority,
): Promise<RunningPostgres> {
  const dir = join(folder, 'postgres');
  mkdirSync(dir);
  chownSync(dir, IDS.uid, IDS.gid);
  chownSync(folder, IDS.uid, IDS.gid);
  const data = join(dir, 'data');
  const password = ownedFile(join(dir, 'password'), `${POSTGRES_PASSWORD}\n`);
  execFileSync(
    join(programs(), 'initdb'),
    [
      '-D',
      data,
      '-U',
      'postgres',
      '--pwfile',
      password,
      '-A',
      'scram-sha-256',
      '--no-sync',
      '-E',
      'UTF8',
    ],
    { ...IDS, stdio: ['ignore', 'ignore', 'pipe'], cwd: dir },
  );
  const { cert, key } = authority.issue('postgres-server');
  ownedFile(
    join(data, 'pg_hba.conf'),
    ['hostssl all ravand all cert', 'hostssl all all all scram-sha-256', ''].join('\n'),
  );
  const port = await freePort();
  const settings = {
    ...{ listen_addresses: '127.0.0.1,127.0.0.2', port, unix_socket_directories: '', fsync: 'off' },
    ...{ ssl: 'on', ssl_cert_file: ownedCopy(cert, join(data, 'server.pem')) },
    ssl_key_file: ownedCopy(key, join(data, 'server.key')),
    ssl_ca_file: ownedCopy(authority.ca, join(data, 'ca.pem')),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const started = new OwnProcess(join(programs(), 'postgres'), ['-D', data, ...args], {
    ...IDS,
    cwd: dir,
  });
  await untilAnswers(started, port);
  return { port, process: started };
}

/**
 * PgBouncer in transaction mode before a PostgreSQL, with TLS to both sides and two connections to
 * the server: clients share them after each statement.
 */
export async function startPgbouncer(
  folder: string,
  { authority, server }: { authority: Authority; server: number },
): Promise<RunningPostgres> {
  const dir = join(folder, 'pgbouncer');
  mkdirSync(dir);
  chownSync(dir, IDS.uid, IDS.gid);
  const { cert, key } = authority.issue('pgbouncer');
  const port = await freePort();
  const settings = {
    ...{ listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '' },
    ...{ pool_mode: 'transaction', default_pool_size: 2, max_client_conn: 200 },
    ...{ auth_type: 'scram-sha-256', auth_file: join(dir, 'users.txt') },
    ...{ client_tls_sslmode: 'require', server_tls_sslmode: 'verify-full' },
    client_tls_cert_file: ownedCopy(cert, join(dir, 'pgbouncer.pem')),
    client_tls_key_file: ownedCopy(key, join(dir, 'pgbouncer.key')),
    server_tls_ca_file: ownedCopy(authority.ca, join(dir, 'ca.pem')),
  };
  ownedFile(settings.auth_file, `"postgres" "${POSTGRES_PASSWORD}"\n`);
  const file = ownedFile(
    join(dir, 'pgbouncer.ini'),
    [
      '[databases]',
      `* = host=127.0.0.1 port=${server}`,
      '[pgbouncer]',
      ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
      '',
    ].join('\n'),
  );
  const started = new OwnProcess('pgbouncer', [file], { ...IDS, cwd: dir });
  await untilAnswers(started, port);
  return { port, process: started };
}

async function untilAnswers(started: OwnProcess, port: number): Promise<void> {
  await eventually({ ms: 30_000, every: 50, waitingFor: 'PostgreSQL to answer' }, async () => {
    if (!started.isRunning) throw new Aborted(`it ended: ${started.log}`);
    const client = new pg.Client({
      ...{ host: '127.0.0.1', port, user: 'postgres', password: POSTGRES_PASSWORD },
      ssl: { rejectUnauthorized: false },
    });
    await client.connect();
    await client.end();
    return true;
  });
}
