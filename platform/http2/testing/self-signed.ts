import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';

export interface Certificate {
  key: Buffer;
  cert: Buffer;
}

let made: Certificate | undefined;

/** A certificate of receivers on this machine, which connections of this process trust. */
export function selfSigned(): Certificate {
  if (made) return made;
  const folder = mkdtempSync(join(tmpdir(), 'self-signed-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = 'subjectAltName=DNS:localhost,DNS:push.example,DNS:*.push.example,IP:127.0.0.1';
  const { status, stderr } = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '2', '-subj', '/CN=localhost', '-addext', names, '-keyout', key, '-out', cert],
  ]);
  if (status !== 0) throw new Error(`openssl made no certificate: ${String(stderr)}`);
  made = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  setDefaultCACertificates([made.cert]);
  return made;
}
