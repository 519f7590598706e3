/**
 * `node image-files.ts FOLDER COMMIT`: puts the files of the image into FOLDER, with a stamp of the
 * release. The same commit gives the same bytes.
 */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { STAMP_FILE } from '../../platform/package-version.ts';

/** What services and operators' commands need. */
const FOLDERS = [
  ...['schemas', 'events', 'platform', 'ingest', 'audiences', 'messaging', 'ingest-gateway'],
  ...['pipeline', 'projections', 'management-api', 'control-plane', 'ops', 'cli', 'deploy'],
];
const FILES = ['package.json'];
/** Tests, and what only a checkout uses. */
const LEFT_OUT =
  /\.test\.ts$|(^|\/)testing(\/|$)|^deploy\/(docker|helm|alerts|grafana|tools|release|generate)(\/|$)|\.md$/;

const [folder, commit] = process.argv.slice(2);
if (folder === undefined || commit === undefined)
  throw new Error('usage: node image-files.ts FOLDER COMMIT');

const checkout = resolve(import.meta.dirname, '../..');
mkdirSync(folder, { recursive: true });
const present = new Set(readdirSync(checkout));
for (const name of [...FOLDERS, ...FILES].filter((one) => present.has(one)))
  cpSync(join(checkout, name), join(folder, name), {
    recursive: true,
    filter: (path) => !LEFT_OUT.test(relative(checkout, path)),
  });
writeFileSync(join(folder, STAMP_FILE), `${JSON.stringify({ commit })}\n`);
