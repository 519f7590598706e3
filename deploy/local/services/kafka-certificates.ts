import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writePrivateFile } from '../../../cli/json-file.ts';
import type { Home } from '../../../cli/stack/home.ts';

const run = promisify(execFile);

/** Of the servers of a home, which are on loopback. */
const NAMES = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const DAYS = ['-days', '3650'];

/** Paths of the certificates of the brokers of a home. */
export function kafkaCertificates({ data }: Pick<Home, 'data'>): {
  /** Of the authority, which clients verify the brokers with. */
  ca: string;
  /** Key and certificate of the brokers, as Kafka reads a PEM keystore. */
  keystore: string;
} {
  const folder = join(data, 'kafka-tls');
  return { ca: join(folder, 'ca.pem'), keystore: join(folder, 'broker.pem') };
}

/** Removes what ensureKafkaCertificates() made. */
export function removeKafkaCertificates({ data }: Pick<Home, 'data'>): void {
  rmSync(join(data, 'kafka-tls'), { recursive: true, force: true });
}

/**
 * Makes an authority of this home and a certificate for its brokers, unless they are there. The
 * key of the authority is not kept. Needs openssl.
 */
export async function ensureKafkaCertificates(home: Pick<Home, 'data'>): Promise<void> {
  const { ca, keystore } = kafkaCertificates(home);
  // Written last.
  if (existsSync(keystore)) return;
  const folder = join(home.data, 'kafka-tls');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = (name: string) => join(folder, name);
  const [caKey, key, request, cert] = ['ca.key', 'key.pem', 'request.pem', 'cert.pem'].map(
    file,
  ) as [string, string, string, string];
  const extensions = file('extensions');
  await run('openssl', [
    ...['req', '-x509', ...KEY, '-keyout', caKey, '-out', ca, ...DAYS],
    ...['-subj', '/CN=ravand local', '-addext', 'keyUsage=critical,keyCertSign'],
  ]);
  await run('openssl', [
    ...['req', '-new', ...KEY, '-keyout', key, '-out', request, '-subj', '/CN=kafka'],
  ]);
  writePrivateFile(extensions, `${NAMES}\nextendedKeyUsage=serverAuth,clientAuth\n`);
  await run('openssl', [
    ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-out', cert],
    ...['-set_serial', '1', ...DAYS, '-extfile', extensions],
  ]);
  const made = file('made.pem');
  writePrivateFile(made, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'));
  chmodSync(ca, 0o644);
  for (const path of [caKey, key, request, cert, extensions]) rmSync(path);
  renameSync(made, keystore);
}
