import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { requirePem } from '../setting-kinds.ts';
import type { Setting } from '../settings.ts';

/**
 * How a connection is secured, as in libpq, but never weaker than asked for: `require` verifies the
 * certificate and the host too, and modes that fall back to plain text are refused.
 */
const MODES = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof MODES)[number];

const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** DATABASE_URL: a URL whose files of TLS can be read. */
export function databaseUrl(options: { default: string; doc: string }): Setting<string> {
  return {
    parse(text) {
      const url = URL.parse(text);
      if (!url || !['postgres:', 'postgresql:'].includes(url.protocol))
        throw new Error('a URL that begins with postgres:// or postgresql://');
      modeOf(url);
      for (const name of FILES) {
        const path = url.searchParams.get(name);
        if (path === null || path === SYSTEM) continue;
        try {
          requirePem(path);
        } catch (error) {
          throw new Error(`in ${name}=${path} ${(error as Error).message}`, { cause: error });
        }
      }
      checkKey(url);
      return text;
    },
    fallback: options.default,
    fallbackText: options.default,
    unit: 'URL',
    doc: options.doc,
    secret: true,
  };
}

/** sslrootcert=system: the authorities that come with Node.js. */
const SYSTEM = 'system';

function checkKey(url: URL): void {
  const [cert, key] = [url.searchParams.get('sslcert'), url.searchParams.get('sslkey')];
  if ((cert === null) !== (key === null))
    throw new Error('both sslcert and sslkey, or none of them');
  if (cert === null || key === null) return;
  try {
    createSecureContext({ cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') });
  } catch (error) {
    throw new Error(`in sslkey the private key of sslcert (${(error as Error).message})`, {
      cause: error,
    });
  }
}

function modeOf(url: URL): Mode {
  const given = url.searchParams.get('sslmode');
  const hasFile = FILES.some((name) => url.searchParams.has(name));
  if (given === null) return hasFile ? 'verify-full' : 'disable';
  const mode = MODES.find((one) => one === given);
  if (!mode) throw new Error(`sslmode=${given} to be one of ${MODES.join(', ')}`);
  if (mode === 'disable' && hasFile)
    throw new Error('no sslrootcert, sslcert or sslkey with sslmode=disable');
  return mode;
}

/** The URL without its parameters of TLS, and these as Node's TLS takes them. */
export function connectionOf(text: string): {
  connectionString: string;
  ssl: ConnectionOptions | false;
} {
  const url = URL.parse(text);
  if (!url) return { connectionString: text, ssl: false };
  const mode = modeOf(url);
  const read = (name: (typeof FILES)[number]) => {
    const path = url.searchParams.get(name);
    return path === null || path === SYSTEM ? undefined : readFileSync(path, 'utf8');
  };
  const [ca, cert, key] = [read('sslrootcert'), read('sslcert'), read('sslkey')];
  for (const name of ['sslmode', ...FILES]) url.searchParams.delete(name);
  return {
    connectionString: url.href,
    ssl: mode !== 'disable' && {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert, key }),
      rejectUnauthorized: mode !== 'no-verify',
      // Whom the certificate names is not checked; undefined: no objection.
      ...(mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    },
  };
}
