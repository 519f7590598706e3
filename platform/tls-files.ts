import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import * as setting from './setting-kinds.ts';
import type { Setting } from './settings.ts';

/** Contents of PEM files, as Node's clients take them. */
export interface TlsFiles {
  ca?: string;
  cert?: string;
  key?: string;
  passphrase?: string;
}

type TlsName<P extends string> =
  `${P}_TLS_CA_FILE` | `${P}_TLS_CERT_FILE` | `${P}_TLS_KEY_FILE` | `${P}_TLS_KEY_PASSWORD`;

/** Paths of the files by suffix, and the password of the key. */
export interface TlsPaths {
  ca: string;
  cert: string;
  key: string;
  password: string;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Settings of the certificates of connections to a server: PREFIX_TLS_CA_FILE and so on.
 * @param server as a sentence names it
 * @param isOn whether the other settings ask for TLS
 * @param turnOn what switches TLS on, for the message
 */
export function tlsFileSettings<const P extends string>(
  prefix: P,
  of: { server: string; isOn: (values: Values) => boolean; turnOn: string },
): Record<TlsName<P>, Setting<string>> {
  const file = (suffix: string, doc: string, problem?: Setting<string>['problem']) => ({
    [`${prefix}_TLS_${suffix}`]: {
      ...setting.pemFile({ default: '', doc }),
      ...(problem ? { problem } : {}),
    },
  });
  const needsTls = (path: unknown, values: Values) =>
    path !== '' && !of.isOn(values)
      ? `TLS is off; ${of.turnOn}, or remove this setting`
      : undefined;
  const table = {
    ...file(
      'CA_FILE',
      `Certificates of the authorities that ${of.server} is verified with, in a PEM file. Empty: those that come with the client.`,
      needsTls,
    ),
    ...file(
      'CERT_FILE',
      `Client certificate for ${of.server}, with its chain, in a PEM file; needs ${prefix}_TLS_KEY_FILE.`,
      (path, values) => {
        if (path === '') return undefined;
        const paths = tlsPaths(values, prefix);
        if (paths.key === '') return `set ${prefix}_TLS_KEY_FILE to the file of its private key`;
        return needsTls(path, values) ?? keyProblem(paths);
      },
    ),
    ...file('KEY_FILE', `Private key of ${prefix}_TLS_CERT_FILE, in a PEM file.`, (path, values) =>
      path !== '' && tlsPaths(values, prefix).cert === ''
        ? `set ${prefix}_TLS_CERT_FILE to the file of its certificate`
        : undefined,
    ),
    [`${prefix}_TLS_KEY_PASSWORD`]: setting.text({
      default: '',
      doc: `Password of ${prefix}_TLS_KEY_FILE; empty: the key is not encrypted.`,
      secret: true,
    }),
  };
  return table as Record<TlsName<P>, Setting<string>>;
}

/** The files that the settings of a prefix name. */
export function tlsPaths(values: Values, prefix: string): TlsPaths {
  const of = (suffix: string) => {
    const value = values[`${prefix}_TLS_${suffix}`];
    return typeof value === 'string' ? value : '';
  };
  return {
    ca: of('CA_FILE'),
    cert: of('CERT_FILE'),
    key: of('KEY_FILE'),
    password: of('KEY_PASSWORD'),
  };
}

/** Reads the files; throws when one has disappeared since the start. */
export function readTlsFiles({ ca, cert, key, password }: TlsPaths): TlsFiles {
  return {
    ...(ca === '' ? {} : { ca: readFileSync(ca, 'utf8') }),
    ...(cert === '' ? {} : { cert: readFileSync(cert, 'utf8') }),
    ...(key === '' ? {} : { key: readFileSync(key, 'utf8') }),
    ...(password === '' ? {} : { passphrase: password }),
  };
}

/** Why a client certificate cannot be used; undefined: it can. */
export function keyProblem(paths: TlsPaths): string | undefined {
  try {
    createSecureContext(readTlsFiles({ ...paths, ca: '' }));
    return undefined;
  } catch (error) {
    return `the certificate and its private key ${paths.key} cannot be used together (${(error as Error).message}); give the key of this certificate, and its password when it has one`;
  }
}
