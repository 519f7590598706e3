import { existsSync, readFileSync } from 'node:fs';

/** Beside package.json in an image: the commit that it was made of. */
export const RELEASE_FILE = 'release.json';

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** The version in package.json. */
export function packageVersion(): string {
  return (JSON.parse(read('package.json')) as { version: string }).version;
}

/** The version, and in an image the commit: `1.2.0+3f0c9a1b2d4e`. */
export function buildVersion(): string {
  if (!existsSync(new URL(`../${RELEASE_FILE}`, import.meta.url))) return packageVersion();
  const { commit } = JSON.parse(read(RELEASE_FILE)) as { commit: string };
  return /^[0-9a-f]{40}$/.test(commit)
    ? `${packageVersion()}+${commit.slice(0, 12)}`
    : packageVersion();
}
