import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Secrets by name, for the message of a test. */
export type Secrets = Map<string, string>;

const SECRET_FIELD = /password|secret|token|_key$|^key$|management_keys/i;
/** Shorter values, such as the empty password of a server without one, occur in ordinary text. */
const MIN_CHARACTERS = 8;

/** Every secret of the stack under test: those of its files in $RAVAND_HOME and its keys. */
export function secretsOfStack(home: string): Secrets {
  const secrets: Secrets = new Map();
  for (const folder of [home, join(home, 'run')])
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json')))
      collect(JSON.parse(readFileSync(join(folder, file), 'utf8')), {
        ...{ name: file, secrets, isSecret: SECRET_FIELD.test(file) },
      });
  for (const file of ['sealing-key', 'tracking-keys']) {
    const key = readFileSync(join(home, file), 'utf8').trim();
    add(secrets, file, key.slice(key.indexOf(':') + 1));
  }
  return secrets;
}

export function add(secrets: Secrets, name: string, value: string): void {
  if (value.length >= MIN_CHARACTERS) secrets.set(name, value);
}

function collect(
  value: unknown,
  { name, secrets, isSecret = false }: { name: string; secrets: Secrets; isSecret?: boolean },
): void {
  if (typeof value === 'string') {
    const password = value.includes('://') ? (URL.parse(value)?.password ?? '') : '';
    if (password !== '') add(secrets, name, decodeURIComponent(password));
    if (isSecret) add(secrets, name, value);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [field, one] of Object.entries(value))
    collect(one, {
      name: `${name} ${field}`,
      secrets,
      isSecret: isSecret || SECRET_FIELD.test(field),
    });
}

/** The names of the secrets that a text contains: as they are, URL-encoded, or in base64. */
export function secretsIn(text: string, secrets: Secrets): string[] {
  return [...secrets]
    .filter(([, value]) => {
      const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '');
      return [value, encodeURIComponent(value), base64].some((form) => text.includes(form));
    })
    .map(([name]) => name);
}

/** The arguments of every process of the machine, by pid. */
export function processArguments(): Map<string, string> {
  const found = new Map<string, string>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      found.set(pid, readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
    } catch {
      // The process has ended.
    }
  return found;
}

/** Every log of the stack under test, by file. */
export function logsOfStack(home: string): Map<string, string> {
  const folder = join(home, 'logs');
  return new Map(
    readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  );
}
