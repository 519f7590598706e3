import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import { metricsOf } from '../metrics.ts';

/** PEM files of certificates that settings name, by the setting. */
export type CertificateFiles = ReadonlyMap<string, string>;

const FILE_SETTING = /_(?:CA|TLS_CERT)_FILE$/;
/** Parameters of the URL of PostgreSQL that name files, as libpq calls them. */
const URL_PARAMETERS = ['sslrootcert', 'sslcert'] as const;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificate files of a service: *_CA_FILE, *_TLS_CERT_FILE and those in DATABASE_URL. */
export function certificateFiles(config: Readonly<Record<string, unknown>>): CertificateFiles {
  const files = new Map<string, string>();
  for (const [name, value] of Object.entries(config)) {
    if (typeof value !== 'string' || value === '') continue;
    if (FILE_SETTING.test(name)) files.set(name, value);
    if (!/^postgres(?:ql)?:/.test(value) || !URL.canParse(value)) continue;
    for (const parameter of URL_PARAMETERS) {
      const path = new URL(value).searchParams.get(parameter);
      if (path !== null && path !== '') files.set(`${name} ${parameter}`, path);
    }
  }
  return files;
}

/**
 * When the certificates of a PEM file end, ms since the epoch: of a chain the first of them, of
 * authorities the last, because a change of authorities keeps the former ones. 0: the file cannot
 * be read, or holds no certificate.
 */
export async function certificateExpiry(path: string, isAuthorities: boolean): Promise<number> {
  try {
    const ends = ((await readFile(path, 'latin1')).match(PEM) ?? []).map((pem) =>
      new X509Certificate(pem).validToDate.getTime(),
    );
    if (ends.length === 0) return 0;
    return isAuthorities ? Math.max(...ends) : Math.min(...ends);
  } catch {
    return 0;
  }
}

/** Exposes when the certificates in the files that a service uses expire. */
export function watchCertificates(registry: Registry, files: CertificateFiles): void {
  metricsOf(registry).collected(
    'ravand_tls_certificate_expiry_seconds',
    'When the certificates expire that the file of a setting holds (Unix time); 0: the file cannot be read.',
    {
      labels: ['setting'],
      async collect(gauge) {
        for (const [setting, path] of files) {
          const isAuthorities = /CA_FILE$|sslrootcert$/.test(setting);
          gauge.set({ setting }, (await certificateExpiry(path, isAuthorities)) / 1000);
        }
      },
    },
  );
}
