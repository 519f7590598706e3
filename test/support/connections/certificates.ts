import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of PEM files. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface Authority {
  /** Its own certificate. */
  ca: string;
  /** A certificate for loopback, or for a client of this name. */
  issue(name: string): Certificate;
}

const NAMES = 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** An authority of the test's own, with its files in the folder. Needs openssl. */
export function makeAuthority(folder: string, name = 'authority'): Authority {
  const file = (of: string) => join(folder, `${name}-${of}`);
  const [ca, caKey] = [file('ca.pem'), file('ca.key')];
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  openssl(
    ...['req', '-x509', ...KEY, '-keyout', caKey, '-out', ca],
    ...['-days', '2', '-subj', `/CN=${name}`, '-addext', 'keyUsage=critical,keyCertSign'],
  );
  let serial = 1;
  return {
    ca,
    issue(of) {
      const [cert, key, request, extensions] = ['pem', 'key', 'csr', 'ext'].map((end) =>
        file(`${of}.${end}`),
      ) as [string, string, string, string];
      openssl('req', '-new', ...KEY, '-keyout', key, '-out', request, '-subj', `/CN=${of}`);
      writeFileSync(extensions, `${NAMES}\nextendedKeyUsage=serverAuth,clientAuth\n`);
      openssl(
        ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-out', cert],
        ...['-set_serial', String(serial++), '-days', '2', '-extfile', extensions],
      );
      chmodSync(key, 0o600);
      return { cert, key };
    },
  };
}
